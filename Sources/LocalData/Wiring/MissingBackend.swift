import BackendContract

/// Stands where a kind of domain has no backend in this build: its keys can be named, registered and asked for, and every answer says what is missing.
///
/// It claims what the real store would, so that what is judged from the keys alone - protection, durability - is judged alike in every build.
struct MissingBackend: StorageBackend {
    let identity: BackendIdentity
    let capabilities: BackendCapabilities
    private let error: BackendError

    init(for domain: StorageDomain, _ reason: String) {
        identity = BackendIdentity(kind: "missing-\(domain.kind)", store: domain.scope ?? "")
        let isKept = domain.kind == .keychain || domain.kind == .encryptedSQLite
        capabilities = BackendCapabilities(durability: .durable, protection: isKept ? .keyring : .plain)
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
