import BackendContract
import MemoryBackend

/// A store in memory with one thing wrong with it: what the laws must notice.
struct FaultyStore: StorageBackend {
    /// What is wrong: each closure stands in for one call of the contract.
    struct Fault: Sendable {
        var read: @Sendable (InMemoryStore, [StorageAddress], ReadFreshness) async throws(BackendError) -> [StorageProbe] = {
            (store, addresses, freshness) async throws(BackendError) in try await store.read(addresses, freshness)
        }
        var apply: @Sendable (InMemoryStore, [StorageMutation]) async throws(BackendError) -> [MutationResult] = {
            (store, mutations) async throws(BackendError) in try await store.apply(mutations)
        }
        var addresses: @Sendable (InMemoryStore, StorageNamespace) async throws(BackendError) -> [StorageAddress] = {
            (store, namespace) async throws(BackendError) in try await store.addresses(in: namespace)
        }
        var page: @Sendable (InMemoryStore, StorageQuery, StorageCursor?, Int) async throws(BackendError) -> StoragePage = {
            (store, query, cursor, limit) async throws(BackendError) in try await store.page(query, after: cursor, limit: limit)
        }
        var count: @Sendable (InMemoryStore, StorageQuery) async throws(BackendError) -> Int = {
            (store, query) async throws(BackendError) in try await store.count(query)
        }
        var synchronize: @Sendable (InMemoryStore) async throws(BackendError) -> StorageDurability = {
            (store) async throws(BackendError) in try await store.synchronize()
        }
        var status: @Sendable (InMemoryStore) async -> BackendStatus = { await $0.status() }
        var identity: @Sendable (InMemoryStore) -> BackendIdentity = { $0.identity }
        /// Whether a store that is opened again finds an empty medium.
        var forgetsWhenReopened = false

        /// A fault that changes every probe.
        static func probes(_ change: @escaping @Sendable (StorageProbe) -> StorageProbe) -> Fault {
            Fault(read: { store, addresses, freshness async throws(BackendError) in try await store.read(addresses, freshness).map(change) }
            )
        }

        /// A fault that changes every mutation before it is made.
        static func mutations(_ change: @escaping @Sendable (StorageMutation) -> StorageMutation) -> Fault {
            Fault(apply: { store, mutations async throws(BackendError) in try await store.apply(mutations.map(change)) })
        }

        /// A fault that changes every result.
        static func results(_ change: @escaping @Sendable (StorageMutation, MutationResult) -> MutationResult) -> Fault {
            Fault(apply: { store, mutations async throws(BackendError) in zip(mutations, try await store.apply(mutations)).map(change) })
        }

        /// A fault that takes one name for another.
        static func names(_ change: @escaping @Sendable (StorageAddress) -> StorageAddress) -> Fault {
            Fault(
                read: { store, addresses, freshness async throws(BackendError) in try await store.read(addresses.map(change), freshness) },
                apply: { store, mutations async throws(BackendError) in
                    try await store.apply(mutations.map { StorageMutation(change($0.address), $0.operation, if: $0.precondition) })
                })
        }
    }

    let store: InMemoryStore
    let fault: Fault

    var identity: BackendIdentity { fault.identity(store) }
    var capabilities: BackendCapabilities { store.capabilities }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await fault.read(store, addresses, freshness)
    }

    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] { try await fault.apply(store, mutations) }

    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await fault.addresses(store, namespace)
    }

    func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        try await fault.page(store, query, cursor, limit)
    }

    func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await fault.count(store, query) }

    func synchronize() async throws(BackendError) -> StorageDurability { try await fault.synchronize(store) }

    func status() async -> BackendStatus { await fault.status(store) }
}
