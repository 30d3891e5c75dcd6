import BackendConformance
import BackendContract
import MemoryBackend
import Synchronization
import Testing

/// A store that counts the calls that change it. A rehearsal must not change it.
private final class Watched: StorageBackend {
    let store = InMemoryStore()
    let changes = Atomic(0)

    var identity: BackendIdentity { store.identity }
    var capabilities: BackendCapabilities { store.capabilities }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        try await store.read(addresses, freshness)
    }

    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        changes.add(1, ordering: .relaxed)
        return try await store.apply(mutations)
    }

    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await store.addresses(in: namespace)
    }

    func synchronize() async throws(BackendError) -> StorageDurability {
        changes.add(1, ordering: .relaxed)
        return try await store.synchronize()
    }

    func close() async { changes.add(1, ordering: .relaxed) }
}

/// Tests of a rehearsal: a store that records changes in memory instead of writing them to the store below it.
@Suite struct RehearsalTests {
    private let address = StorageAddress("slot")

    @Test func `a rehearsal does not change the store below`() async throws {
        let below = Watched()
        try await below.store.apply([.put(.bytes([1]), at: address), .tombstone(at: StorageAddress("gone"))]).forEach {
            #expect($0.isApplied)
        }
        let before = try await below.store.read([address, StorageAddress("gone")], .fresh)
        let rehearsal = RehearsalStore(over: below)
        let revision = try #require(before[0].revision)
        #expect(try await rehearsal.apply(.put(.bytes([2]), at: address, if: .revision(revision))).isApplied)
        #expect(try await rehearsal.apply(.delete(StorageAddress("gone"))).isApplied)
        #expect(try await rehearsal.apply(.put(.bytes([3]), at: StorageAddress("new"), if: .absent)).isApplied)
        #expect(try await rehearsal.read(address).record?.payload == .bytes([2]))
        #expect(try await rehearsal.count(StorageQuery(.values)) == 2)
        _ = try await rehearsal.synchronize()
        await rehearsal.close()
        #expect(below.changes.load(ordering: .relaxed) == 0)
        #expect(try await below.store.read([address, StorageAddress("gone")], .fresh) == before)
        #expect(try await Set(below.store.addresses(in: .values)) == [address, StorageAddress("gone")])
    }

    @Test func `if another program writes a slot after its rehearsed change, the rehearsal reads the value of that program`() async throws {
        let below = InMemoryStore()
        let rehearsal = RehearsalStore(over: below)
        #expect(try await rehearsal.apply(.put(.bytes([1]), at: address, if: .absent)).isApplied)
        #expect(try await below.apply(.put(.bytes([2]), at: address, if: .absent)).isApplied)
        #expect(try await rehearsal.read(address).record?.payload == .bytes([2]))
        #expect(try await rehearsal.count(StorageQuery(.values)) == 1)
        guard case .conflict = try await rehearsal.apply(.put(.bytes([3]), at: address, if: .absent)) else {
            Issue.record("the rehearsal overwrote a value that it had not read")
            return
        }
    }
}
