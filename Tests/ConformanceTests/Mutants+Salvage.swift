import BackendContract
import MemoryBackend
import TestSupport

extension Mutant {
    /// The capabilities of a store that seals names. The name of a damaged slot is therefore unknown.
    static var sealedClaims: BackendCapabilities {
        var claims = fullClaims
        claims.sealsNames = true
        return claims
    }

    static var salvage: [Mutant] {
        let beside = "beside a damaged slot without a name the others are listed, and a handle reads and deletes it"
        let one = "a handle of damage identifies one state of a slot, and no later state"
        let claims = sealedClaims
        return [
            Mutant(
                "lists only what it can name", breaks: beside, one, claims: claims,
                fault: FaultyStore.Fault(listing: { store, namespace async throws(BackendError) in
                    StorageListing(try await store.sealedListing(in: namespace).addresses, damaged: [])
                })),
            Mutant(
                "leaves slots without a name off its pages", breaks: beside, claims: claims,
                fault: FaultyStore.Fault(page: { store, query, cursor, limit async throws(BackendError) in
                    let page = try await store.page(query, after: cursor, limit: limit)
                    return StoragePage(page.entries.filter { $0.record != nil }, next: page.next)
                })),
            Mutant(
                "says that it deleted damage, and keeps it", breaks: beside, claims: claims,
                fault: FaultyStore.Fault(deleteDamage: { store, handle async throws(BackendError) in
                    try await store.sealedDamage(at: handle) != nil
                })),
            Mutant(
                "deletes whatever is where damage was", breaks: one, claims: claims,
                fault: FaultyStore.Fault(deleteDamage: { store, handle async throws(BackendError) in
                    guard let address = InMemoryStore.address(of: handle) else { return false }
                    return try await store.apply(
                        .delete(address, if: try await store.read(address).revision.map { .revision($0) } ?? .none)
                    )
                    .isApplied
                })),
            Mutant(
                "forgets which state a handle names", breaks: one, claims: claims,
                fault: FaultyStore.Fault(damage: { store, handle async throws(BackendError) in
                    try await store.sealedDamage(at: handle) ?? StorageCorruption(bytes: [], revision: nil, reason: "it was damaged once")
                })),
        ]
    }
}
