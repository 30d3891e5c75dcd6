package import BackendContract

/// Replaces a backend that this build or configuration does not have. Keys of its domain can be declared and
/// registered. Each access fails with an error that says what is missing.
///
/// It has the capabilities of the real backend.
/// Reason: "A missing backend is replaced by one that refuses" in Docs/Decisions/Stores.md.
package struct MissingBackend: StorageBackend {
    package let identity: BackendIdentity
    package let capabilities: BackendCapabilities
    private let error: BackendError

    /// Creates the replacement for the backend of a domain.
    /// - Parameters:
    ///   - claims: The capabilities of the real backend; nil if they are unknown. The store then counts as unencrypted.
    ///   - reason: The message of the error with which each access fails.
    package init(for domain: StorageDomain, _ claims: BackendCapabilities?, _ reason: String) {
        identity = BackendIdentity(kind: "missing-\(domain.kind)", store: domain.scope ?? "")
        capabilities = claims ?? BackendCapabilities(durability: .durable, protection: .plain)
        error = BackendError(.unavailable, reason)
    }

    package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        addresses.map { _ in .unavailable(error) }
    }

    package func apply(_ all: [StorageMutation]) async throws(BackendError) -> [MutationResult] { all.map { _ in .failed(error) } }

    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] { throw error }

    package func synchronize() async throws(BackendError) -> StorageDurability { throw error }

    package func status() async -> BackendStatus { .unavailable(error) }
}
