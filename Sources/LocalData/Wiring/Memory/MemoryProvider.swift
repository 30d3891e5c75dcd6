import BackendContract
package import BackendRuntime
package import MemoryBackend

/// The domain `.memory`. Its values are lost when their router is released.
struct MemoryProvider: BackendProvider {
    let kind = StorageDomain.Kind.memory
    let claims = InMemoryStore.ownCapabilities

    func make(_ scope: String, _ parts: StoreParts) -> any StorageBackend {
        InMemoryStore(medium: MemoryMedium(), runtime: parts.configuration.runtime)
    }
}

extension InMemoryStore {
    /// Returns a store in memory that has the capabilities of a domain's backend.
    /// - Parameter protection: The protection, if the configuration determines it.
    package static func standIn(
        for domain: StorageDomain, _ claims: BackendCapabilities? = nil, protection: ProtectionLevel? = nil, medium: MemoryMedium,
        runtime: Runtime
    ) -> InMemoryStore {
        var claims = claims ?? Wiring.providers.first { $0.kind == domain.kind }?.claims ?? unknownClaims
        if let protection { claims.protection = protection }
        return InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: "memory-\(domain.kind)", store: domain.scope ?? ""), capabilities: claims,
            runtime: runtime)
    }

    /// The capabilities for a kind of domain without a provider. The protection is `keychain`, because the data never
    /// reaches a disk.
    private static let unknownClaims = BackendCapabilities(
        durability: .durable, atomicBatch: true, crossProcess: true, protection: .keychain, usefulConcurrency: 64)
}
