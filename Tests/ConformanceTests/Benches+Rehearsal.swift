import BackendConformance
import MemoryBackend
import Synchronization

@testable import BackendContract

/// A rehearsal over memory that changes the memory itself with every second call, where it may: what it finds is then partly below and partly rehearsed.
///
/// A rehearsal looks at the store below and then keeps its change; what another program writes in between, it cannot refuse. So that the two halves are
/// one store to the laws, a call that goes below has the store to itself.
final class MixedRehearsal: StorageBackend {
    private struct Turns {
        var isBelow = false
        var underWay = 0
        var hasStoreToItself = false
    }

    let rehearsal: RehearsalStore
    private let turns = Mutex(Turns())
    private let mixes: Bool

    init(_ rehearsal: RehearsalStore, mixes: Bool) {
        self.rehearsal = rehearsal
        self.mixes = mixes
    }

    var identity: BackendIdentity { rehearsal.identity }
    var capabilities: BackendCapabilities { rehearsal.capabilities }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await rehearsal.read(addresses, freshness)
    }

    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        let goesBelow = await begin(mutations)
        defer { end() }
        return try await goesBelow ? rehearsal.base.apply(mutations) : rehearsal.apply(mutations)
    }

    /// Begins a call once no call has the store to itself. Returns whether the call goes below.
    private func begin(_ mutations: [StorageMutation]) async -> Bool {
        while true {
            let goesBelow: Bool? = turns.withLock { turns in
                if turns.hasStoreToItself { return nil }
                turns.isBelow.toggle()
                turns.hasStoreToItself = mixes && turns.isBelow && turns.underWay == 0 && !isRehearsed(mutations)
                turns.underWay += 1
                return turns.hasStoreToItself
            }
            if let goesBelow { return goesBelow }
            await Task.yield()
        }
    }

    /// Whether the rehearsal has changed a slot of these mutations.
    private func isRehearsed(_ mutations: [StorageMutation]) -> Bool {
        rehearsal.changes.slots.withLock { slots in mutations.contains { slots[$0.address] != nil } }
    }

    private func end() {
        turns.withLock { turns in
            turns.underWay -= 1
            turns.hasStoreToItself = false
        }
    }

    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await rehearsal.addresses(in: namespace)
    }

    func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
        try await rehearsal.page(query, after: cursor, limit: limit)
    }

    func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await rehearsal.count(query) }

    func synchronize() async throws(BackendError) -> StorageDurability { try await rehearsal.synchronize() }
}

extension LawBench {
    /// A rehearsal over memory: the laws do not tell it from a store.
    static func rehearsal(_ name: String, _ capabilities: BackendCapabilities, mixes: Bool) -> LawBench {
        var bench = LawBench.memory(
            name, capabilities, unwrap: { medium(of: ($0 as? MixedRehearsal)?.rehearsal.base ?? $0) })
        bench.makeStore = { MixedRehearsal(RehearsalStore(over: InMemoryStore(capabilities: capabilities)), mixes: mixes) }
        bench.reopen = { old in
            guard let old = (old as? MixedRehearsal)?.rehearsal, let medium = medium(of: old.base) else { throw WrongStore() }
            return MixedRehearsal(
                RehearsalStore(over: InMemoryStore(medium: medium, capabilities: capabilities), old.changes), mixes: mixes)
        }
        return bench
    }
}
