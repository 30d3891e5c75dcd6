import BackendContract
import Synchronization

/// The chains of versions that migration policies give to registered keys and collections.
///
/// A policy is known to a catalog's registration only; keys are made anew wherever a program uses them. The slot is what they have in common.
final class PolicyChains: Sendable {
    private let chains: Mutex<[PhysicalSlot: EvolutionChain]>
    private let isInUse: Atomic<Bool>

    init() {
        chains = Mutex([:])
        isInUse = Atomic(false)
    }

    /// The same chains, for a rehearsal that may attach others.
    init(copying other: PolicyChains) {
        let known = other.chains.withLock(\.self)
        chains = Mutex(known)
        isInUse = Atomic(!known.isEmpty)
    }

    /// Gives a chain to the keys of a slot.
    /// - Parameters:
    ///   - chain: A chain without a ``EvolutionChain/problem``.
    ///   - slot: The key's slot, or the one that stands for a collection.
    func attach(_ chain: EvolutionChain, at slot: PhysicalSlot) {
        chains.withLock { $0[slot] = chain }
        isInUse.store(true, ordering: .releasing)
    }

    /// A key with the chain of its slot, if it declares the version in which that chain ends and has no chain of its own.
    func attached<Value>(to key: StorageKey<Value>, at slot: PhysicalSlot) -> StorageKey<Value> {
        // Most programs have no policy: their keys take no lock.
        guard isInUse.load(ordering: .acquiring), key.evolution == nil, key.membership?.acceptsOtherTags != true,
            let chain = chains.withLock({ $0[slot.placeholder ?? slot] }), chain.version == key.schemaVersion
        else { return key }
        return key.evolving(checked: chain)
    }
}
