import BackendConformance
import MemoryBackend
import Synchronization

@testable import BackendContract

/// A rehearsal over a store in memory. A rehearsal records changes instead of writing them to the store below it.
/// A slot is a named place for one record. If `mixes` is set, every second call changes the store below instead.
/// That is not done for slots whose change the rehearsal has already recorded.
/// A read then finds some values in the store below and some in the rehearsal.
///
/// A rehearsal first reads the store below, and then records the change.
/// It would not notice that another call changes the store below between these steps.
/// A call that changes the store below therefore runs alone, so that the rehearsal and the store below act as one store.
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

    /// Starts a call as soon as no other call runs alone. Returns whether this call must change the store below, and so runs alone.
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

    /// Returns whether the rehearsal has changed a slot of these mutations.
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
    /// A bench, which makes rehearsals over stores in memory. They must keep the laws, the rules for every backend.
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
