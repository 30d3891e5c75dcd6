import LocalDataObservation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Records that move from legacy locations while a follower runs.
@Suite(.inTurn) struct RecordChangesMigrationTests {
    private let machine = TestMachine()
    private let old = Note.collection("old", .userDefaults(suite: "old"))
    private let bare = Note.collection(.userDefaults(suite: "main"))

    private static func note(_ id: String, _ text: String) -> Note { Note(id: id, text: text) }

    @Test(.timeLimit(.minutes(10)))
    func `records in a legacy location are moved first, and records that an older program adds are moved when they are reported`()
        async throws
    {
        let (older, router) = (machine.launch(), machine.launch())
        let notes = bare.moved(from: old)
        try await older.set(Self.note("a", "1"), in: old)
        var changes = router.changes(in: notes).makeAsyncIterator()
        #expect(try await changes.next() == .inserted(id: "a", Self.note("a", "1")))
        try await older.set(Self.note("b", "1"), in: old)
        #expect(try await changes.next() == .inserted(id: "b", Self.note("b", "1")))
    }

    @Test(.timeLimit(.minutes(10))) @MainActor
    func `a record that an older program adds while the first records are moved is delivered`() async throws {
        let (older, router) = (machine.launch(), machine.launch())
        let notes = bare.moved(from: old)
        let signal = textKey("signal", .userDefaults(suite: "old"))
        try await older.set(Self.note("a", "1"), in: old)
        var signals = router.values(for: signal).makeAsyncIterator()
        _ = try await signals.next(isolation: #isolation)
        _ = try await router.value("a", in: bare)
        let gate = FaultGate()
        try #require(machine.backends(of: .userDefaults(suite: "main")).last).inject(.hold(gate), of: .apply)
        let stored = StoredRecords(notes, in: router)
        await gate.untilArrivals()
        // The legacy location was listed. The store reports this record before the value of the signal.
        try await older.set(Self.note("b", "1"), in: old)
        try await older.set("passed", for: signal)
        _ = try await signals.next(isolation: #isolation)
        gate.open()
        // The first call waits until the record is moved, and the second one until it is delivered.
        try await stored.set(Self.note("c", "1"))
        try await stored.set(Self.note("d", "1"))
        #expect(stored.records.map(\.id) == ["a", "b", "c", "d"])
    }

    @Test(.timeLimit(.minutes(10))) func `a sweep that moves records is followed`() async throws {
        let router = machine.launch()
        let notes = bare.moved(from: old)
        var changes = router.changes(in: notes).makeAsyncIterator()
        var replay = Replay<Note>()
        try await router.set(Self.note("first", "1"), in: notes)
        replay.apply(try #require(try await changes.next()))
        // A change of a legacy location by this process is delivered when the record is moved.
        for note in Note.many(100) { try await router.set(note, in: old) }
        #expect(try await router.row(of: notes)?.state == .moved)
        while replay.records.count < 101 { replay.apply(try #require(try await changes.next())) }
        #expect(replay.breaks.isEmpty, "\(replay.breaks)")
    }

    /// Replays changes until the texts of the records are as given. A record may also be reported when only its metadata has
    /// changed.
    private func follow<Changes: AsyncIteratorProtocol>(
        _ changes: inout Changes, _ replay: inout Replay<Note>, until texts: [String: String]
    ) async throws where Changes.Element == RecordChange<Note> {
        while replay.records.mapValues(\.text) != texts {
            let change = try await changes.next(isolation: #isolation)
            replay.apply(try #require(change))
        }
    }

    @Test(.timeLimit(.minutes(10))) func `in a release window, changes and removals by the earlier release are followed`() async throws {
        let (older, router) = (machine.launch(), machine.launch())
        let notes = bare.moved(from: old, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))
        try await older.set(Self.note("a", "1"), in: old)
        var changes = router.changes(in: notes).makeAsyncIterator()
        var replay = Replay<Note>()
        try await follow(&changes, &replay, until: ["a": "1"])
        try await older.set(Self.note("a", "2"), in: old)
        try await follow(&changes, &replay, until: ["a": "2"])
        try await older.set(Self.note("b", "1"), in: old)
        try await follow(&changes, &replay, until: ["a": "2", "b": "1"])
        try await router.set(Self.note("b", "2"), in: notes)
        try await follow(&changes, &replay, until: ["a": "2", "b": "2"])
        try await older.remove("a", in: old)
        try await follow(&changes, &replay, until: ["b": "2"])
        #expect(replay.breaks.isEmpty, "\(replay.breaks)")
        #expect(try await router.value("a", in: notes) == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `a list that an older program writes during the following is split and followed`() async throws {
        let (older, router) = (machine.launch(), machine.launch())
        let list = testKey("list", .userDefaults(suite: "old"), of: [Note].self)
        let notes = bare.moved(from: list) { $0 }
        var changes = router.changes(in: notes).makeAsyncIterator()
        try await router.set(Self.note("first", "1"), in: notes)
        #expect(try await changes.next()?.id == "first")
        try await older.set(Note.many(3), for: list)
        var replay = Replay<Note>()
        while replay.records.count < 3 { replay.apply(try #require(try await changes.next())) }
        #expect(Set(replay.records.keys) == ["n0", "n1", "n2"] && replay.breaks.isEmpty)
    }
}
