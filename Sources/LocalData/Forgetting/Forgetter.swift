import BackendContract
import BackendRuntime

/// Forgets stores: removes the older copies of their values, and then destroys the stores.
struct Forgetter: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode
    let configuration: StorageConfiguration

    private var valueWriter: ValueWriter { ValueWriter(slots, coder, history, program) }

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
        // A ledger that cannot be read is destroyed unread.
        let mark = ForgetMark(domains: domains, recorded: domains == nil ? try? await history.ledger.domains() : nil)
        if directories != nil { try await destruction.requireKeyrings(of: mark) }
        var hasBegun = false
        do {
            try await removeCopies(of: domains, &hasBegun)
            guard let directories else {
                await close()
                return try await clearOtherStores(domains)
            }
            try await locked(directories) { () throws(BackendError) in
                try (try ForgetMark.read(directories, files)?.union(mark) ?? mark).write(directories, files)
            }
            // The mark exists, so the next call of any program goes on.
            hasBegun = true
            await close()
            try await resume()
            try await forgetNotes(domains)
        } catch let error as StorageError where hasBegun && error.outcome == .notApplied {
            throw StorageError(error.code, key: error.keyName, error.message, outcome: .unknown, underlying: error.underlying)
        }
    }

    /// Completes what a mark on the disk names, if there is one.
    func resume() async throws {
        guard let directories = try configuration.directories else { return }
        let (destruction, files) = (destruction, configuration.runtime.files)
        let lock = try await lock(directories)
        defer { lock.release() }
        // Read the mark under the lock: another process may have completed it, and written new values since.
        let mark = try await onLane { () throws(BackendError) in try ForgetMark.read(directories, files) }
        guard let mark else { return }
        try await clearOtherStores(mark.domains)
        try await destruction.run(mark, directories)
    }

    private var destruction: StoreDestruction {
        StoreDestruction(
            configuration: configuration, known: domainsInUse, references: Array(slots.routes.usedKeySources) + [configuration.keySource])
    }

    private var domainsInUse: Set<StorageDomain> {
        Set((slots.routes.usedDomains.union(history.registry.entries().map(\.route.domain))).map(scoped))
    }

    private func scoped(_ domain: StorageDomain) -> StorageDomain {
        StorageDomain(kind: domain.kind, scope: domain.scope ?? configuration.defaultScope(of: domain.kind))
    }

    /// Returns a domain with a freshness anchor, if there is one among those to forget.
    private func anchoredDomain(_ domains: Set<StorageDomain>?) -> StorageDomain? {
        let anchored =
            configuration.freshnessAnchors.keys.map { StorageDomain.encryptedSQLite(database: $0) }
            + configuration.vaultFreshnessAnchors.keys.map { StorageDomain.keychain(service: $0) }
        return anchored.sorted { "\($0)" < "\($1)" }.first { domains?.contains($0) != false }
    }

    // MARK: Copies

    /// Removes the values of registered keys whose destination is forgotten, with every older copy in other domains. A
    /// copy that stayed would be migrated again.
    /// - Parameter hasBegun: Set before the first removal.
    private func removeCopies(of domains: Set<StorageDomain>?, _ hasBegun: inout Bool) async throws {
        for entry in history.registry.entries() where entry.key.hasMigration && domains?.contains(scoped(entry.route.domain)) != false {
            hasBegun = true
            func open<Key: TypedKey>(_ key: Key) async throws {
                try await valueWriter.remove(try slots.routes.slot(for: key.typed))
            }
            guard let collection = entry.key.collection else {
                try await open(entry.key.base)
                continue
            }
            func openRecords<Collection: TypedCollection>(_ collection: Collection) async throws {
                let records = collection.typed
                for listed in try await Listing(slots).names(in: records.domain, .collection(records.name)) {
                    if case .value(let name) = listed {
                        try await valueWriter.remove(try slots.routes.slot(for: records.key(name)))
                    }
                }
            }
            try await openRecords(collection)
        }
    }

    // MARK: Stores that are not on the disk

    /// Empties the stores in memory, those of custom backends and those on servers.
    private func clearOtherStores(_ domains: Set<StorageDomain>?) async throws {
        for domain in domains ?? domainsInUse where try !isOnDisk(domain) {
            let (_, backend) = try slots.routes.anyBackend(for: domain, key: "\(domain)")
            var namespaces: Set<StorageNamespace> = [.values]
            for entry in history.registry.entries() where scoped(entry.route.domain) == domain {
                namespaces.insert(entry.route.slot.address.namespace)
            }
            for namespace in namespaces {
                try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                    for address in try await backend.addresses(in: namespace) {
                        if case .failed(let error) = try await backend.apply(.delete(address)) { throw error }
                    }
                }
            }
        }
    }

    /// Whether the destruction of the folders destroys the store of a domain.
    private func isOnDisk(_ domain: StorageDomain) throws -> Bool {
        try configuration.directories != nil && !configuration.plugsIn(domain.kind)
            && (domain.kind == .cache || configuration.provider(of: domain.kind) is any BackedProvider)
    }

    // MARK: Notes

    /// Forgets the notes about values that were forgotten: quarantined values, and entries of the ledger.
    private func forgetNotes(_ domains: Set<StorageDomain>?) async throws {
        guard let domains else { return }
        for value in try await history.quarantine.list() {
            let isForgotten = domains.contains {
                value.place == "\($0)" || value.place.hasPrefix("\($0.kind.name)/\($0.scope ?? "")/")
            }
            if isForgotten { try await history.quarantine.purge(value.id) }
        }
        await history.ledger.forget(domains)
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
            try await runtime.makeLane("forget").run(
                clock: runtime.clock, deadline: runtime.clock.now.advanced(by: .seconds(120)), isMutation: true
            ) { (_) throws(BackendError) in try work() }
        }
    }
}
