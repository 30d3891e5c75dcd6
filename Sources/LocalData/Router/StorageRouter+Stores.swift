import BackendContract
import BackendRuntime
import Sealing

extension StorageRouter {
    /// Returns the status of a domain's store. Never opens a prompt.
    ///
    /// ```swift
    /// switch await storage.status(of: .keychain) {
    /// case .ready: show("Ready")
    /// case .locked: show("Unlock your keyring to sign in.")
    /// case .absent: show("There is no keyring yet.")
    /// case .unavailable(let error): warn(error.message)
    /// }
    /// ```
    @concurrent
    public nonisolated func status(of domain: StorageDomain) async -> DomainStatus {
        do {
            let (_, backend) = try slots.routes.anyBackend(for: domain, key: "\(domain)")
            if slots.routes.gate.isShutDown { throw slots.routes.gate.refusal("\(domain)") }
            if slots.routes.gate.refuses(backend.identity) { return .locked }
            return DomainStatus(await backend.status(), domain)
        } catch {
            return .unavailable((error as? StorageError) ?? StorageError(StorageError.unavailable, key: "\(domain)", "It failed to open."))
        }
    }

    /// Describes the keyring of a domain for diagnosis: the program that stores the values, the collection, and the
    /// encryption in transit. Never opens a prompt.
    /// - Returns: Nil for a domain that is not in a keyring.
    /// - Throws: ``StorageError`` when the keyring cannot be reached.
    @concurrent
    package nonisolated func keyring(of domain: StorageDomain) async throws -> KeyringDescription? {
        try await call("keyring", domain) {
            let (_, backend) = try slots.routes.anyBackend(for: domain, key: "\(domain)")
            guard let keyring = backend as? any DescribableKeyring else { return nil }
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in try await keyring.describeKeyring() }
        }
    }

    /// A warning for the operator about a domain's store on this machine; nil if there is none.
    package nonisolated func warning(about domain: StorageDomain) -> String? {
        let backend = try? slots.routes.anyBackend(for: domain, key: "\(domain)").1
        return (backend as? any WarningBackend)?.warning ?? (stores as? Wiring)?.warning(about: domain)
    }

    /// The ids of the registered catalogs, sorted.
    package nonisolated var catalogIDs: [String] { history.registry.catalogs }

    /// Returns the size of the files of a domain's store in bytes; nil if the store has no files.
    /// - Throws: ``StorageError`` when the files cannot be found or read.
    @concurrent
    package nonisolated func sizeOfFiles(of domain: StorageDomain) async throws -> Int64? {
        try await call("size", domain) {
            guard try configuration.directories != nil, !configuration.plugsIn(domain.kind),
                let provider = configuration.provider(of: domain.kind) as? any BackedProvider
            else { return nil }
            let paths: [String]
            switch try provider.backedStore(of: domain, configuration).form {
            case .file(let path): paths = [path]
            case .database(let path, _, _): paths = ["", "-wal", "-journal"].map { path + $0 }
            case .items: return nil
            }
            let lane = FileLane("size", within: configuration.deadlines.files, configuration.runtime)
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await lane.run(isMutation: false) { (files) throws(FileError) in
                    var size: Int64 = 0
                    for path in paths { size += try files.status(path)?.size ?? 0 }
                    return size
                }
            }
        }
    }

    /// Deletes the entries of the ledger about domains, and changes nothing in their stores.
    package nonisolated func forgetInLedger(_ domains: Set<StorageDomain>) async { await history.ledger.forget(domains) }

    /// Returns whether a slot contains a sealing key. If such a key is removed, the data that it sealed is lost.
    /// - Throws: ``StorageError`` when the slot cannot be read.
    @concurrent
    package nonisolated func holdsSealingKey(_ key: AnyStorageKey) async throws -> Bool {
        try await slots.routes.route(for: key).probe().record.map { SealingKey.begins($0.payload) } ?? false
    }

    /// Returns the metadata of a stored value; nil if there is no value.
    /// - Throws: ``StorageError`` when the slot cannot be read.
    @concurrent
    package nonisolated func storedMetadata(of key: AnyStorageKey) async throws -> StorageMetadata? {
        try await slots.routes.route(for: key).probe().record?.metadata
    }

    /// Closes the router permanently. Calls that begin later throw `shutDown`. To continue, create another router.
    ///
    /// The router first completes the running changes. A change that takes too long is interrupted between two of its
    /// steps. Then the router writes the migration ledger, ends every sequence of values, closes the stores and
    /// overwrites the sealing keys in memory. A running read may throw `shutDown`. A second call has no further effect.
    ///
    /// ```swift
    /// do {
    ///     try await storage.shutdown(waitingAtMost: .seconds(5))
    /// } catch StorageError.timedOut {
    ///     warn("A disk does not respond. All acknowledged changes are durable.")
    /// }
    /// ```
    /// - Parameter limit: The longest time to wait for running changes, and then for the stores to close; nil for the
    ///   longest of the configuration's deadlines.
    /// - Throws: ``StorageError`` with `timedOut` when a store could not be closed before its deadline, because its
    ///   disk does not respond. Acknowledged changes are durable nevertheless. The store is closed, and its keys are
    ///   overwritten, as soon as the disk responds.
    @concurrent
    public nonisolated func shutdown(waitingAtMost limit: Duration? = nil) async throws {
        slots.routes.gate.shutDown()
        let limit = limit ?? max(configuration.deadlines.files, configuration.deadlines.keychain)
        _ = await drain(nil, limit)
        await history.ledger.flush()
        await Self.close(slots, history, stores)
        // A read that began before the shutdown may have opened a store again.
        for backend in slots.routes.opened { await (backend as? any KeyHoldingStore)?.lock(within: limit) }
        await coder.seals.keys.lock()
        if !slots.lanes.isBusy(in: nil) { await coder.seals.keys.endUses() }
        let open = slots.routes.opened.compactMap { $0 as? any ReluctantBackend }.filter(\.hasOpenFiles).map(\.identity.description)
            .sorted()
        guard let first = open.first else { return }
        throw StorageError(
            StorageError.timedOut, key: first,
            "\(open.joined(separator: ", ")) could not be closed: the disk does not answer. What was acknowledged is durable; the rest is closed as soon as the disk answers.",
            outcome: .applied)
    }

    /// Ends every sequence of values and closes the stores.
    static func close(_ slots: SlotAccess, _ history: History, _ stores: any StoreProvider) async {
        slots.committer.hub.close()
        await history.ledger.close()
        await history.quarantine.close()
        await slots.routes.witnesses?.close()
        for backend in slots.routes.opened { await backend.close() }
        await stores.close()
    }
}
