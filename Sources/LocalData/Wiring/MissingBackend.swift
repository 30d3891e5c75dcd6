import BackendContract

/// Takes the place of a backend that this build or configuration does not have. Its keys can be named, registered and asked for; every answer says what is missing.
///
/// It claims what the real backend claims, so that rules about protection and durability, which look at keys alone, decide alike in every build.
struct MissingBackend: StorageBackend {
    let identity: BackendIdentity
    let capabilities: BackendCapabilities
    private let error: BackendError

    /// - Parameter claims: What the real backend claims; nil where that is unknown, which counts as a plain store.
    init(for domain: StorageDomain, _ claims: BackendCapabilities?, _ reason: String) {
        identity = BackendIdentity(kind: "missing-\(domain.kind)", store: domain.scope ?? "")
        capabilities = claims ?? BackendCapabilities(durability: .durable, protection: .plain)
        error = BackendError(.unavailable, reason)
    }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        addresses.map { _ in .unavailable(error) }
    }

    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] { mutations.map { _ in .failed(error) } }

    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] { throw error }

    func synchronize() async throws(BackendError) -> StorageDurability { throw error }

    func status() async -> BackendStatus { .unavailable(error) }
}
