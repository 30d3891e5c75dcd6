import BackendContract
import BackendRuntime
import LocalData

/// All items of a service in the session's keyring, with exactly their stored bytes.
struct KeyringItems {
    let service: String
    private let store: any BackupItemStore
    private let runtime: Runtime
    private let deadline: Duration

    /// Selects the items of a domain; nil if this build has no keyring.
    init?(_ domain: StorageDomain, _ configuration: StorageConfiguration) throws {
        let kind = StorageDomain.Kind.keychain.name
        service = domain.scope ?? configuration.applicationID
        guard let provider = Wiring.backedProviders.first(where: { $0.backedKinds.contains(kind) }),
            case .items(let store) = try provider.backedStore(kind, service, configuration).form
        else { return nil }
        self.store = store
        (runtime, deadline) = (configuration.runtime, configuration.deadlines.keychain)
    }

    private var end: MonotonicInstant { runtime.clock.now.advanced(by: deadline) }

    /// Returns all items, sorted by namespace and name.
    /// - Throws: ``StorageError``: `locked`, `unavailable`.
    func items() async throws -> [BackupItem] {
        try await translatingErrors(key: service) { () throws(BackendError) in try await store.items(deadline: end) }
    }

    /// Writes items, while no other program of this user that uses LocalData changes the keyring.
    /// - Parameters:
    ///   - items: The items.
    ///   - kept: The namespace to which an item with other content is moved first.
    ///   - progress: Called with the number of items that are written.
    func write(_ items: [BackupItem], keeping kept: String, _ progress: (Int) -> Void) async throws {
        let locks = try await translating(service, await StoreLocks([store], deadline: end, runtime: runtime))
        defer { locks.release() }
        for (index, item) in items.enumerated() {
            try await translating(item.name, await store.restore(item, keeping: kept, deadline: end))
            progress(index + 1)
        }
    }

    /// Ends the use of the store.
    func close() async { await (store as? any StorageBackend)?.close() }
}
