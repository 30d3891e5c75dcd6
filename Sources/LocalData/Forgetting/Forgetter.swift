import BackendContract
import BackendRuntime
import Sealing

/// Forgets stores: removes the older copies of their values, and then destroys the stores.
struct Forgetter: EnginePart, Sendable {
    let engine: Engine
    let configuration: StorageConfiguration

    /// Forgets domains; nil for everything.
    /// - Parameter close: Closes the stores that this router has opened, before they are destroyed.
    func forget(_ domains: Set<StorageDomain>?, close: () async -> Void) async throws {
        let domains = domains.map { Set($0.map(scoped)) }
        if let anchored = anchoredDomain(domains) {
            throw StorageError(
                StorageError.unsupported, key: "\(anchored)",
                "The database has a freshness anchor, which would refuse an empty database. Remove the anchor first. Nothing was changed.")
        }
        let directories = try configuration.directories
        let files = configuration.runtime.files
        if let directories, try await isUnfinished(directories) {
            // A database that is overwritten in part does not name its application, so complete the earlier call first.
            await close()
            try await resume()
        }
        let mark = try await mark(for: domains)
        if let directories {
            let stores = try await destruction(mark).stores(of: mark)
            try await owners.requireOwn(stores, of: mark, directories)
            try await destruction(mark).requireKeyrings(of: mark)
        }
        var hasBegun = false
        do {
            try await removeCopies(of: domains, &hasBegun)
            guard let directories else {
                hasBegun = true
                await close()
                try await clearOtherStores(domains)
                return try await forgetNotes(domains)
            }
            // The call that completes a killed one does not purge the quarantine, so purge it before the mark is written. A second purge
            // follows when the stores are destroyed, and it reports an error.
            do { try await purgeQuarantined(of: domains, &hasBegun) } catch is StorageError {}
            try await locked(directories) { () throws(BackendError) in
                let begun = try ForgetMark.read(directories, files)
                try begun?.requireOwner(configuration)
                try (begun?.union(mark) ?? mark).write(directories, files)
            }
            // The mark exists, so the next call of any program goes on.
            hasBegun = true
            await close()
            try await resume()
            try await forgetNotes(domains)
        } catch let error as StorageError where hasBegun && error.outcome != .unknown {
            throw StorageError(error.code, key: error.keyName, error.message, outcome: .unknown, underlying: error.underlying)
        }
    }

    /// Returns what a call destroys, each with its owner. Nothing is changed, except that an interrupted call is completed first.
    /// - Parameter domains: The domains to forget; nil for everything.
    /// - Throws: ``StorageError``, as the call does, if a store belongs to another application or user.
    func preview(_ domains: Set<StorageDomain>?) async throws -> [ForgottenStore] {
        guard let directories = try configuration.directories else { return [] }
        if try await isUnfinished(directories) { try await resume() }
        let mark = try await mark(for: domains.map { Set($0.map(scoped)) })
        return try await owners.requireOwn(try await destruction(mark).stores(of: mark), of: mark, directories)
    }

    /// Returns whether a process was killed while it forgot stores.
    private func isUnfinished(_ directories: StorageDirectories) async throws -> Bool {
        let files = configuration.runtime.files
        return try await onLane { () throws(BackendError) in
            do throws(FileError) { return try files.status(ForgetMark.path(directories)) != nil } catch { throw error.backendError() }
        }
    }

    private func mark(for domains: Set<StorageDomain>?) async throws -> ForgetMark {
        var mark = ForgetMark(
            domains: domains, application: configuration.sealedApplication, applicationID: configuration.applicationID)
        // A ledger that cannot be read is destroyed unread.
        if domains == nil { mark.recorded = domainsInUse.union((try? await history.ledger.domains()) ?? []) }
        return mark
    }

    /// Completes what a mark on the disk names, if there is one.
    func resume() async throws {
        guard let directories = try configuration.directories else { return }
        let (configuration, files) = (configuration, configuration.runtime.files)
        // Check the owner first, because the lock would be created in the folders of another user.
        try await onLane { () throws(BackendError) in try files.requireOwned([ForgetMark.path(directories)]) }
        let lock = try await lock(directories)
        defer { lock.release() }
        // Read the mark under the lock: another process may have completed it, and written new values since.
        let mark = try await onLane { () throws(BackendError) in
            let mark = try ForgetMark.read(directories, files)
            try mark?.requireOwner(configuration)
            return mark
        }
        guard let mark else { return }
        let destruction = destruction(mark)
        try await owners.requireOwn(try await destruction.stores(of: mark), of: mark, directories, isResumed: true)
        try await clearOtherStores(mark.domains)
        try await destruction.run(mark, directories)
    }

    private var owners: StoreOwners { StoreOwners(configuration: configuration, ledger: history.ledger) }

    private func destruction(_ mark: ForgetMark) -> StoreDestruction {
        var configuration = configuration
        // Programs that share their stores may have different ids, and each has its own keyring service.
        if let id = mark.applicationID { configuration.applicationID = id }
        return StoreDestruction(
            configuration: configuration, known: mark.application == nil ? domainsInUse : [],
            references: Array(slots.routes.usedKeySources) + [configuration.keySource])
    }

    private var domainsInUse: Set<StorageDomain> {
        Set((slots.routes.usedDomains.union(history.registry.entries().map(\.route.domain))).map(scoped))
    }

    private func scoped(_ domain: StorageDomain) -> StorageDomain { configuration.scoped(domain) }

    /// Returns a domain with a freshness anchor, if there is one among those to forget.
    private func anchoredDomain(_ domains: Set<StorageDomain>?) -> StorageDomain? {
        let anchored =
            configuration.freshnessAnchors.keys.map { StorageDomain.encryptedSQLite(database: $0) }
            + configuration.vaultFreshnessAnchors.keys.map { StorageDomain.keychain(service: $0) }
        return anchored.sorted { "\($0)" < "\($1)" }.first { domains?.contains($0) != false }
    }

    // MARK: Copies

    /// Removes the values of registered keys and collections whose destination is forgotten, with every older copy in other domains. A
    /// copy that stayed would be migrated again.
    /// - Parameter hasBegun: Set before the first removal.
    private func removeCopies(of domains: Set<StorageDomain>?, _ hasBegun: inout Bool) async throws {
        for entry in history.registry.entries() where domains?.contains(scoped(entry.route.domain)) != false {
            guard entry.key.hasMigration || !entry.key.legacyLocations.isEmpty else { continue }
            hasBegun = true
            if let collection = entry.key.collection {
                try await removeOlderRecords(of: collection)
            } else {
                try await removeValue(of: entry.key.base)
            }
            for location in try LegacyLocations(engine: engine).all(entry.key.legacyLocations, of: entry.route.slot) {
                try await removeBackups(beside: location.key)
            }
        }
    }

    /// Removes the backups that an earlier release kept beside a legacy location, because they have older versions of the value.
    private func removeBackups(beside location: AnyStorageKey) async throws {
        let slot = try slots.routes.slot(location.base)
        guard let chain = slot.key.evolution else { return }
        let backups = Backups(engine: engine)
        guard location.collection != nil else { return try await backups.purge(slot) }
        for version in chain.older + [chain.version] {
            let namespace = Backups.namespace(of: .collection(location.name), version: version)
            let addresses = try await translating(location.name, await slot.route.backend.addresses(in: namespace))
            for address in addresses { try await backups.purge([address], slot.route) }
        }
    }

    private func removeValue(of key: some TypedKey) async throws { try await valueWriter.remove(try slots.routes.slot(for: key.typed)) }

    /// Removes the older copies of records. A record that is only in the collection has none, and is destroyed with its store.
    private func removeOlderRecords(of collection: some TypedCollection) async throws {
        let records = collection.typed
        try await RecordRemover(engine: engine, collection: records).removeOlder()
    }

    // MARK: Stores that are not on the disk

    /// Empties the stores in memory, those of custom backends and those on servers.
    private func clearOtherStores(_ domains: Set<StorageDomain>?) async throws {
        for domain in domains ?? domainsInUse where try !isOnDisk(domain) {
            let (_, backend) = try slots.routes.anyBackend(for: domain, key: "\(domain)")
            // Every store was locked before the files were destroyed. A store on a server is emptied with its calls.
            (backend as? any KeyHoldingStore)?.endLock()
            for namespace in try namespaces(in: domain) {
                try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await backend.deleteAll(in: namespace) }
            }
        }
    }

    /// Returns the namespaces of a domain: those of single values, of registered collections, and of the backups of both.
    private func namespaces(in domain: StorageDomain) throws -> Set<StorageNamespace> {
        var namespaces: Set<StorageNamespace> = [.values]
        for entry in history.registry.entries() where scoped(entry.route.domain) == domain {
            let slot = entry.route.slot.address.namespace
            let records = entry.key.collection == nil ? slot : StorageNamespace.collection(entry.key.name)
            namespaces.formUnion([slot, records])
            guard let chain = try slots.routes.slot(entry.key.base).key.evolution else { continue }
            for version in chain.older + [chain.version] { namespaces.insert(Backups.namespace(of: records, version: version)) }
        }
        return namespaces
    }

    /// Whether the destruction of the folders destroys the store of a domain.
    private func isOnDisk(_ domain: StorageDomain) throws -> Bool {
        try configuration.directories != nil && !configuration.plugsIn(domain.kind)
            && (domain.kind == .cache || configuration.provider(of: domain.kind) is any BackedProvider)
    }

    // MARK: Notes

    /// Forgets the notes about values that were forgotten: quarantined values, and entries of the ledger.
    private func forgetNotes(_ domains: Set<StorageDomain>?) async throws {
        var hasBegun = true
        try await purgeQuarantined(of: domains, &hasBegun)
        if let domains { await history.ledger.forget(domains) }
    }

    /// Purges the quarantined values of domains, and those of the legacy locations of registered keys in these domains.
    /// - Parameter hasBegun: Set before the first purge.
    private func purgeQuarantined(of domains: Set<StorageDomain>?, _ hasBegun: inout Bool) async throws {
        // If everything on the disk is forgotten, the quarantine is destroyed with its folder.
        if try domains == nil && configuration.directories != nil && configuration.makeOwnStore == nil { return }
        guard let domains else {
            for value in try await history.quarantine.list() {
                hasBegun = true
                try await history.quarantine.purge(value.id)
            }
            return
        }
        let places = try forgottenPlaces(domains)
        try await history.quarantine.purge(at: places.contains, copiesOf: { text in domains.contains { "\($0)" == text } }) {
            hasBegun = true
        }
    }

    private func forgottenPlaces(_ domains: Set<StorageDomain>) throws -> ForgottenPlaces {
        var places = ForgottenPlaces(domains: domains)
        for entry in history.registry.entries() where domains.contains(scoped(entry.route.domain)) {
            for location in try LegacyLocations(engine: engine).all(entry.key.legacyLocations, of: entry.route.slot) {
                places.add(location.route, location.key)
            }
        }
        return places
    }

    // MARK: The lock

    private func lock(_ directories: StorageDirectories) async throws -> any FileLock {
        let runtime = configuration.runtime
        let deadline = runtime.clock.now.advanced(by: max(configuration.deadlines.files, configuration.deadlines.keychain))
        return try await onLane { () throws(BackendError) in
            do throws(FileError) {
                try runtime.files.createDirectory(directories.locks)
                return try runtime.files.lock(directories.lockPath("forget", runtime.files)) { runtime.clock.now >= deadline }
            } catch { throw error.backendError() }
        }
    }

    private func locked(_ directories: StorageDirectories, _ work: @escaping @Sendable () throws(BackendError) -> Void) async throws {
        let lock = try await lock(directories)
        defer { lock.release() }
        try await onLane(work)
    }

    private func onLane<R: Sendable>(_ work: @escaping @Sendable () throws(BackendError) -> R) async throws -> R {
        let runtime = configuration.runtime
        return try await translatingErrors(key: "forget") { () throws(BackendError) in
            try await runtime.onLane("forget", within: .seconds(120), isMutation: true, work)
        }
    }
}

extension StorageBackend {
    /// Deletes the slots of a namespace, and all damaged slots of the store whose names cannot be read.
    /// - Throws: ``BackendError`` if one of them was not deleted.
    fileprivate func deleteAll(in namespace: StorageNamespace) async throws(BackendError) {
        let salvageable = self as? any SalvageableBackend
        let listing = try await salvageable?.listing(in: namespace)
        let addresses = if let listing { listing.addresses } else { try await self.addresses(in: namespace) }
        for address in addresses { try await deleteAnything(at: address) }
        for slot in listing?.damaged ?? [] { _ = try await salvageable?.deleteDamage(at: slot.handle) }
    }

    /// Deletes the content of a slot, also damaged bytes.
    /// - Throws: ``BackendError`` if the slot was not deleted.
    func deleteAnything(at address: StorageAddress) async throws(BackendError) {
        var result = try await apply(.delete(address))
        // A store deletes damaged bytes only if the change has their revision as precondition.
        if case .conflict(let probe) = result, let revision = probe.revision {
            result = try await apply(.delete(address, if: .revision(revision)))
        }
        switch result {
        case .applied: return
        case .failed(let error), .conflict(.unavailable(let error)): throw error
        case .locked, .conflict(.locked): throw BackendError(.locked, "The store is locked. Unlock it and try again.")
        case .conflict(.corrupt(let corruption)): throw BackendError(.corrupted, "The store is damaged (\(corruption.reason)).")
        case .conflict, .notAttempted:
            throw BackendError(.unavailable, "Another process or task changed a value at the same time. Try again.")
        }
    }
}
