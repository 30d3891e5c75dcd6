import BackendContract

/// A backend of a test that wraps another backend and forwards every call that it does not implement.
protocol WrappingBackend: StorageBackend {
    var base: any StorageBackend { get }
}

extension WrappingBackend {
    var identity: BackendIdentity { base.identity }
    var capabilities: BackendCapabilities { base.capabilities }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await base.read(addresses, freshness)
    }
    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] { try await base.apply(mutations) }
    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await base.addresses(in: namespace)
    }
    func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        try await base.page(query, after: cursor, limit: limit)
    }
    func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await base.count(query) }
    func synchronize() async throws(BackendError) -> StorageDurability { try await base.synchronize() }
}
