import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Tombstones of collections are dropped once no removed record can return, and not before.
///
/// A tombstone is the record of a removal. It prevents that a migration moves an older copy of the record again. The
/// legacy location is another collection, or a list: one value that contains an array of records. A sweep migrates the
/// records of all collections of a catalog, and drops the tombstones that are no longer needed.
@Suite(.slow("goes through real files many times"), .inTurn) struct TombstoneTests {
    private static let older = StorageDomain.userDefaults(suite: "older")
    private static let domain = StorageDomain.userDefaults(suite: "place")

    /// Creates routers over the same stores in memory. A router's writes can be made to wait until the test opens a
    /// gate.
    private final class World: Sendable {
        let media = Mutex<[String: MemoryMedium]>([:])

        func medium(_ scope: String) -> MemoryMedium {
            media.withLock { media in
                if let medium = media[scope] { return medium }
                let medium = MemoryMedium()
                media[scope] = medium
                return medium
            }
        }

        /// Creates a router. Its puts into the given suite wait at the gate, or its writes of tombstones.
        func launch(stoppedIn suite: String = "", at gate: Gate = Gate(isOpen: true), beforeTombstones: Bool = false) -> StorageRouter {
            var configuration = StorageConfiguration.inMemory()
            configuration.useBackend(for: .userDefaults) { [self] scope in
                FaultyStore(
                    store: InMemoryStore(medium: medium(scope)),
                    fault: FaultyStore.Fault(apply: { store, mutations async throws(BackendError) in
                        let isStopped = mutations.contains { mutation in
                            switch mutation.operation {
                            case .put: !beforeTombstones
                            case .tombstone: beforeTombstones
                            default: false
                            }
                        }
                        if scope == suite, isStopped { await gate.pass() }
                        return try await store.apply(mutations)
                    }))
            }
            return StorageRouter(configuration: configuration)
        }

        func slots(_ scope: String, _ collection: String) async throws -> [StorageAddress] {
            try await InMemoryStore(medium: medium(scope)).addresses(in: StorageNamespace("collection:\(collection)"))
        }
    }

    private static let ways = ["get", "count", "sweep"]

    @Test(arguments: ways)
    func `a migration that waits before it writes a record does not restore the record if it was removed while the migration waited`(
        _ way: String
    ) async throws {
        let world = World()
        let old = Note.collection("old", Self.older)
        let notes = Note.collection(Self.domain).moved(from: old)
        try await world.launch().set(Note(id: "a", text: "removed"), in: old)
        let gate = Gate()
        let slow = world.launch(stoppedIn: "place", at: gate)
        let moving = Task {
            switch way {
            case "get": _ = try await slow.value("a", in: notes)
            case "count": _ = try await slow.count(in: notes)
            default: _ = try await slow.row(of: notes)
            }
        }
        await gate.arrived()
        let fast = world.launch()
        try await fast.remove("a", in: notes)
        #expect(try await world.slots("place", "notes").count == 1)
        _ = try await fast.row(of: notes)
        #expect(try await world.slots("place", "notes").isEmpty, "the tombstone was not dropped")
        gate.open()
        try await moving.value
        #expect(try await world.launch().value("a", in: notes) == nil)
        #expect(try await world.slots("place", "notes").isEmpty)
    }

    @Test(arguments: ways)
    func `a waiting migration between two legacy collections does not restore a record that was removed from the new collection`(
        _ way: String
    ) async throws {
        let world = World()
        let oldest = Note.collection("oldest", .userDefaults(suite: "oldest"))
        let old = Note.collection("old", Self.older).moved(from: oldest)
        let notes = Note.collection(Self.domain).moved(from: old)
        try await world.launch().set(Note(id: "a", text: "removed"), in: oldest)
        let gate = Gate()
        let slow = world.launch(stoppedIn: "older", at: gate)
        let moving = Task {
            switch way {
            case "get": _ = try await slow.value("a", in: old)
            case "count": _ = try await slow.count(in: old)
            default: _ = try await slow.row(of: old)
            }
        }
        await gate.arrived()
        let fast = world.launch()
        try await fast.remove("a", in: notes)
        _ = try await fast.row(of: notes)
        #expect(try await world.slots("place", "notes").isEmpty, "the tombstone was not dropped")
        gate.open()
        try await moving.value
        #expect(try await world.launch().value("a", in: notes) == nil)
        #expect(try await world.launch().count(in: notes) == 0)
    }

    @Test func `a tombstone stays if a waiting migration writes its record between the sweep's first read and the new removal epoch`()
        async throws
    {
        let world = World()
        let oldest = Note.collection("oldest", .userDefaults(suite: "oldest"))
        let old = Note.collection("old", Self.older).moved(from: oldest)
        let notes = Note.collection(Self.domain).moved(from: old)
        try await world.launch().set(Note(id: "a", text: "removed"), in: oldest)
        let (writing, sweeping) = (Gate(), Gate())
        let slow = world.launch(stoppedIn: "older", at: writing)
        let moving = Task { _ = try await slow.value("a", in: old) }
        await writing.arrived()
        try await world.launch().remove("a", in: notes)
        // The sweep has read the legacy collections as empty, and waits before it rewrites the mark of the older one.
        let sweeper = world.launch(stoppedIn: "older", at: sweeping, beforeTombstones: true)
        let sweep = Task { _ = try await sweeper.row(of: notes) }
        await sweeping.arrived()
        writing.open()
        try await moving.value
        #expect(try await world.slots("older", "old").count == 1)
        sweeping.open()
        try await sweep.value
        #expect(try await world.slots("place", "notes").count == 1)
        #expect(try await world.launch().value("a", in: notes) == nil)
        #expect(try await world.launch().count(in: notes) == 0)
    }

    @Test func `a tombstone stays while the legacy collection has a damaged record, or if the legacy location is a list`() async throws {
        let world = World()
        let old = Note.collection("old", Self.older)
        let notes = Note.collection(Self.domain).moved(from: old)
        try await world.launch().remove("a", in: notes)
        world.medium("older").corrupt(StorageAddress("a", in: StorageNamespace("collection:old")), bytes: [1])
        _ = try await world.launch().row(of: notes)
        #expect(try await world.slots("place", "notes").count == 1)
        world.medium("older").removeForeign(StorageAddress("a", in: StorageNamespace("collection:old")))
        _ = try await world.launch().row(of: notes)
        #expect(try await world.slots("place", "notes").isEmpty)

        let list = testKey("list", Self.older, of: [Note].self)
        let listed = Note.collection("listed", Self.domain).moved(from: list) { $0 }
        try await world.launch().set([Note(id: "a", text: "one")], for: list)
        try await world.launch().remove("a", in: listed)
        _ = try await world.launch().row(of: listed)
        #expect(try await world.slots("place", "listed").count == 1)
    }

    @Test func `in a store without atomic batches, a sweep keeps the tombstones`() async throws {
        var configuration = StorageConfiguration.inMemory()
        let medium = MemoryMedium()
        configuration.useBackend(for: .userDefaults) { _ in
            InMemoryStore(medium: medium, capabilities: BackendCapabilities(durability: .durable, crossProcess: true))
        }
        let old = Note.collection("old", Self.domain)
        let notes = Note.collection(Self.domain).moved(from: old)
        let router = StorageRouter(configuration: configuration)
        try await router.set(Note(id: "a", text: "one"), in: old)
        try await router.remove("a", in: notes)
        _ = try await router.row(of: notes)
        #expect(try await InMemoryStore(medium: medium).addresses(in: StorageNamespace("collection:notes")).count == 1)
    }

    @Test(arguments: [true, false])
    func `if a collection no longer has its migration, its tombstones are dropped once the legacy list is declared as retired and is empty`(
        _ isAtomic: Bool
    ) async throws {
        var configuration = StorageConfiguration.inMemory()
        let medium = MemoryMedium()
        configuration.useBackend(for: .userDefaults) { _ in
            InMemoryStore(
                medium: medium, capabilities: BackendCapabilities(durability: .durable, atomicBatch: isAtomic, crossProcess: true))
        }
        func slots() async throws -> Int {
            try await InMemoryStore(medium: medium).addresses(in: StorageNamespace("collection:notes")).count
        }
        let list = testKey("list", Self.domain, of: [Note].self)
        let notes = Note.collection(Self.domain)
        let router = StorageRouter(configuration: configuration)
        try await router.remove("a", in: notes.moved(from: list) { $0 })
        _ = try await router.row(of: notes.moved(from: list) { $0 })
        #expect(try await slots() == 1)
        /// Sweeps with a later release, whose collection has no migration.
        func sweep(retired: AnyStorageKey...) async throws {
            let later = StorageRouter(configuration: configuration)
            var catalog = TestCatalog(.collection(notes))
            catalog.retiredKeys = retired
            try await later.registerCatalog(catalog)
            await later.sweep()
        }
        try await sweep()
        #expect(try await slots() == 1)
        // An older program writes the list again. A program with the migration could still move the record, so the tombstone stays.
        try await router.set([Note(id: "a", text: "one")], for: list)
        try await sweep(retired: .key(list))
        #expect(try await slots() == 1)
        try await router.remove(list)
        try await sweep(retired: .key(list))
        #expect(try await slots() == 0)
    }

    @Test func `after the tombstone is dropped, a record that an older program sets again is moved like a new record`() async throws {
        let world = World()
        let old = Note.collection("old", Self.older)
        let notes = Note.collection(Self.domain).moved(from: old)
        try await world.launch().set(Note(id: "a", text: "one"), in: old)
        try await world.launch().remove("a", in: notes)
        _ = try await world.launch().row(of: notes)
        try await world.launch().set(Note(id: "a", text: "two"), in: old)
        #expect(try await world.launch().value("a", in: notes)?.text == "two")
    }

    #if SQLite
        /// The total number of session records that the test creates; a million in the longest search.
        private static let sessions = max(400, Int(400 * LawSettings().factor))

        @Test(.timeLimit(.minutes(60)))
        func `a database keeps no rows of session records that expired or were removed`() async throws {
            let stage = try Stage()
            let clock = TestClock()
            let domain = StorageDomain.encryptedSQLite(database: "sessions")
            func launch() -> StorageRouter {
                stage.launch {
                    $0.keySource = .keyFile("sealing.key")
                    $0.use(clock)
                }
            }
            let old = Note.collection("old", .userDefaults(suite: "older"))
            let notes = Note.collection(domain).moved(from: old).expiring(after: .seconds(60))
            let router = launch()
            try await router.registerCatalog(TestCatalog(.collection(notes)))
            func rows() throws -> Int64 {
                try PlainDatabase(path: stage.path(ofDatabase: "sessions")).value("SELECT count(*) FROM records")?.integer ?? -1
            }
            let live = 100
            var counts: [Int64] = []
            for round in 0..<(Self.sessions / live) {
                let sessions = (0..<live).map { Note(id: "s\(round * live + $0)", text: "a session") }
                try await router.set(sessions, in: notes)
                try await router.batch { batch in for session in sessions.prefix(live / 4) { batch.remove(session.id, in: notes) } }
                clock.advance(by: .seconds(61))
                await router.sweep()
                // Values that a sweep found expired are purged a day later.
                clock.pass(.seconds(86_401))
                await router.sweep()
                counts.append(try rows())
            }
            // One row is left: it records that tombstones of the collection were dropped, and changes whenever more are
            // dropped.
            #expect(counts.allSatisfy { $0 == 1 }, "\(counts)")
            try await router.shutdown()
        }
    #endif
}
