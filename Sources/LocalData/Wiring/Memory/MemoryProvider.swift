import BackendContract
package import BackendRuntime
package import MemoryBackend

/// The domain `.memory`: values that end with their router.
struct MemoryProvider: BackendProvider {
    let kind = StorageDomain.Kind.memory
    let claims = InMemoryStore.ownCapabilities

    func make(_ scope: String, _ parts: StoreParts) -> any StorageBackend {
        InMemoryStore(medium: MemoryMedium(), runtime: parts.configuration.runtime)
    }
}

extension InMemoryStore {
    /// A store in memory that claims what the backend of a domain claims.
    /// - Parameter protection: The protection where the configuration decides it.
    package static func standIn(
        for domain: StorageDomain, protection: ProtectionLevel? = nil, medium: MemoryMedium, runtime: Runtime
    ) -> InMemoryStore {
        var claims = Wiring.provider(of: domain.kind)?.claims ?? unknownClaims
        if let protection { claims.protection = protection }
        return InMemoryStore(
            medium: medium, identity: BackendIdentity(kind: "memory-\(domain.kind)", store: domain.scope ?? ""), capabilities: claims,
            runtime: runtime)
    }

    /// What is claimed for a kind of domain that has no provider. It is protected like everything that never reaches a disk.
    private static let unknownClaims = BackendCapabilities(
        durability: .durable, atomicBatch: true, crossProcess: true, protection: .keychain, usefulConcurrency: 64)
}
