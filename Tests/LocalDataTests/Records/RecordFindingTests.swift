import BackendContract
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Errors that random simulations of versions, collections and lifetimes found, each as a short program.
///
/// A sweep visits all keys and collections of a catalog, migrates their values, and purges those that have expired. A
/// legacy list is one value that contains an array of records. A read or a sweep splits it: it moves each record into a
/// collection, and then stores a mark that the list was split.
@Suite(.inTurn) struct RecordFindingTests {
    struct Note: Codable, Sendable, Identifiable, Equatable {
        var id: String
        var text: String
    }

    private static let older = StorageDomain.userDefaults(suite: "older")
    private static let place = StorageDomain.userDefaults(suite: "place")
    private let clock = TestClock()
    private let machine: TestMachine
    private let old = textKey("old", Self.older)
        .expiring(after: .seconds(60))
    private let new: StorageKey<String>
    private let oldNotes = StorageCollection<Note>("old", domain: Self.older, owner: "Tests", description: "Notes")
        .expiring(after: .seconds(60))

    init() {
        machine = TestMachine { [clock] in $0.use(clock) }
        new = textKey("new", Self.place).expiring(after: .seconds(60))
            .moved(from: old)
    }

    private func notes(_ name: String = "notes") -> StorageCollection<Note> {
        StorageCollection(name, domain: Self.place, owner: "Tests", description: "Notes")
    }

    @Test func `a sweep removes an expired value from its legacy location`() async throws {
        try await machine.launch().set("mortal", for: old)
        clock.advance(by: .seconds(61))
        let router = machine.launch()
        #expect(try await router.value(for: new) == nil)
        #expect(try await router.storedValue(for: old) != nil)
        #expect(try await router.registerCatalog(TestCatalog(.key(new)), migrateImmediately: true).isComplete)
        clock.pass(.seconds(86_400))
        #expect(await router.sweep().isComplete)
        #expect(try await router.storedValue(for: old) == nil)
    }

    @Test func `a sweep removes expired records from a legacy collection`() async throws {
        try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "b", text: "two")], in: oldNotes)
        clock.advance(by: .seconds(61))
        let router = machine.launch()
        let notes = notes().expiring(after: .seconds(60)).moved(from: oldNotes)
        try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
        clock.pass(.seconds(86_400))
        let report = await router.sweep()
        #expect(report.rows.map(\.state) == [.expired])
        #expect(try await router.storedValue("a", in: oldNotes) == nil)
        #expect(try await router.count(in: notes) == 0)
    }

    @Test func `the records of a legacy list are durable before the mark that the list was split is written`() async throws {
        let list = StorageKey<[Note]>(name: "list", domain: Self.older, owner: "Tests", description: "Notes")
        let ring = StorageDomain.keychain(service: "notes")
        let notes = StorageCollection<Note>("notes", domain: ring, owner: "Tests", description: "Notes").moved(from: list) { $0 }
        try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "b", text: "two")], for: list)
        #expect(try await machine.launch().count(in: notes) == 2)
        let changes = try #require(machine.backends(of: ring).last).log.map(\.kind).filter { [.apply, .synchronize].contains($0) }
        // The expected changes are the commits of the two records, the flush, and the commit of the mark.
        #expect(changes.prefix(4) == [.apply, .apply, .synchronize, .apply])
    }

    @Test func `the purge of an expired value quarantines a later value that an old program wrote to the legacy location`() async throws {
        try await machine.launch().set("first", for: old)
        #expect(try await machine.launch().get(new) == "first")
        clock.advance(by: .seconds(61))
        try await machine.launch().set("second", for: textKey("old", Self.older))
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.key(new)), migrateImmediately: true)
        clock.pass(.seconds(86_400))
        #expect(await router.sweep().isComplete)
        #expect(try await router.value(for: new) == nil)
        let kept = try await router.audit().quarantine
        #expect(kept.count == 1)
        for entry in kept { #expect(String(decoding: try await router.quarantine.data(of: entry), as: UTF8.self) == "second") }
    }

    @Test func `a record that was moved, set and removed does not return from a legacy copy that the move could not delete`() async throws {
        let oldNotes = StorageCollection<Note>("old", domain: Self.older, owner: "Tests", description: "Notes")
        try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "b", text: "one")], in: oldNotes)
        let (router, notes) = (machine.launch(), notes())
        #expect(try await router.count(in: oldNotes) == 2)  // Opens the store, so that a fault can be injected.
        for backend in machine.backends(of: Self.older) { backend.inject(.unavailable, of: .apply, repeats: true) }
        try await router.migrateAll(from: oldNotes, to: notes)
        for backend in machine.backends(of: Self.older) { backend.removeFaults() }
        #expect(try await router.count(in: oldNotes) == 2)
        try await router.set(Note(id: "a", text: "two"), in: notes)
        try await router.remove("a", in: notes)
        try await router.update("b", in: notes) { $0?.text = "two" }
        try await router.batch { batch in batch.remove("b", in: notes) }
        try await router.migrateAll(from: oldNotes, to: notes)
        #expect(try await router.value("a", in: notes) == nil)
        #expect(try await router.value("b", in: notes) == nil)
        #expect(try await router.count(in: oldNotes) == 0)
    }

    @Test
    func `a sweep reports blocked if the mark of a split list cannot be written, even if the collection has all of its records`()
        async throws
    {
        let list = testKey("list", Self.older, of: [Note].self)
        try await machine.launch().set([Note(id: "a", text: "one")], for: list)
        let notes = notes().moved(from: list) { $0 }
        let router = machine.launch()
        #expect(try await router.get("a", in: notes).text == "one")
        // An old program writes the list again. Each of its records already exists.
        try await machine.launch().set([Note(id: "a", text: "two")], for: list)
        for backend in machine.backends(of: Self.place) { backend.inject(.locked, of: .apply) }
        let report = try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.blocked])
        for backend in machine.backends(of: Self.place) { backend.removeFaults() }
        #expect(await router.sweep().isComplete)
        #expect(try await router.get("a", in: notes).text == "one")
        #expect(try await router.value(for: list) == nil)
    }
}
