import BackendConformance
import BackendContract
import MemoryBackend
import Synchronization

/// A rehearsal over memory that changes the memory itself with every second call, where it may: what it finds is then partly below and partly rehearsed.
final class MixedRehearsal: StorageBackend {
    let rehearsal: RehearsalStore
    private let isBelow = Mutex(false)
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
        let goesBelow = isBelow.withLock { isBelow in
            isBelow.toggle()
            return isBelow && mixes && !rehearsal.changes.touch(mutations.map(\.address))
        }
        return try await goesBelow ? rehearsal.base.apply(mutations) : rehearsal.apply(mutations)
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
