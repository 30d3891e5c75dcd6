import BackendContract
import BackendRuntime
import LocalDataObservation
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

@testable import LocalData

/// The changes of a collection that a follower receives, and their order.
@Suite(.inTurn) struct RecordChangesTests {
    private static let domain = StorageDomain.userDefaults(suite: "main")
    private let machine = TestMachine()
    private let notes = Note.collection(Self.domain)

    private static func note(_ id: String, _ text: String) -> Note { Note(id: id, text: text) }

    @Test(.timeLimit(.minutes(10)))
    func `a sequence of changes begins with the present records, and own changes have their old records`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("a", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        #expect(try await changes.next() == .inserted(id: "a", Self.note("a", "1")))
        try await router.set(Self.note("b", "1"), in: notes)
        try await router.set(Self.note("a", "2"), in: notes)
        try await router.update("a", in: notes) { $0?.text = "3" }
        try await router.remove("a", in: notes)
        #expect(try await changes.next() == .inserted(id: "b", Self.note("b", "1")))
        #expect(try await changes.next() == .changed(id: "a", old: Self.note("a", "1"), new: Self.note("a", "2")))
        #expect(try await changes.next() == .changed(id: "a", old: Self.note("a", "2"), new: Self.note("a", "3")))
        #expect(try await changes.next() == .removed(id: "a", old: Self.note("a", "3")))
    }

    @Test(.timeLimit(.minutes(10))) func `a follower that was ended before its first step reads nothing`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("a", "1"), in: notes)
        let backend = try #require(machine.backends(of: Self.domain).last)
        let before = backend.log.count
        let follower = RecordFollower(router, notes, onDamage: .throw, recovers: true)
        follower.end()
        while let step = try await follower.next() { #expect(step.updates.isEmpty) }
        #expect(backend.log.count == before)
    }

    @Test(.timeLimit(.minutes(10))) func `the changes of a batch arrive in the order of the batch`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("b", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        _ = try await changes.next()
        let notes = notes
        try await router.batch { batch in
            try batch.set(Self.note("c", "1"), in: notes)
            batch.remove("b", in: notes)
            try batch.set(Self.note("a", "1"), in: notes)
        }
        #expect(try await changes.next() == .inserted(id: "c", Self.note("c", "1")))
        #expect(try await changes.next() == .removed(id: "b", old: Self.note("b", "1")))
        #expect(try await changes.next() == .inserted(id: "a", Self.note("a", "1")))
    }

    @Test(.timeLimit(.minutes(10))) func `changes of another process arrive without the old record`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        try await other.set(Self.note("a", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        #expect(try await changes.next() == .inserted(id: "a", Self.note("a", "1")))
        try await other.set(Self.note("a", "2"), in: notes)
        #expect(try await changes.next() == .changed(id: "a", old: nil, new: Self.note("a", "2")))
        try await other.set(Self.note("b", "1"), in: notes)
        #expect(try await changes.next() == .inserted(id: "b", Self.note("b", "1")))
        try await other.remove("a", in: notes)
        #expect(try await changes.next() == .removed(id: "a", old: nil))
        // An own change after a change of another process has the record that the sequence delivered before.
        try await router.set(Self.note("b", "2"), in: notes)
        #expect(try await changes.next() == .changed(id: "b", old: Self.note("b", "1"), new: Self.note("b", "2")))
    }

    @Test(.timeLimit(.minutes(10))) func `other collections, other types and single values are not delivered`() async throws {
        let router = machine.launch()
        var changes = router.changes(in: notes).makeAsyncIterator()
        let other = StorageCollection<Note>("others", domain: Self.domain, owner: "Tests", description: "Notes")
        let retagged = StorageCollection<Note>("notes", domain: Self.domain, owner: "Tests", description: "Notes", typeTag: "Other")
        try await router.set(Self.note("a", "before"), in: notes)
        #expect(try await changes.next()?.record?.text == "before")
        try await router.set(Self.note("a", "another collection"), in: other)
        try await router.set(Self.note("b", "another type"), in: retagged)
        try await router.set("single", for: textKey("a", Self.domain))
        try await router.set(Self.note("a", "after"), in: notes)
        #expect(try await changes.next()?.record?.text == "after")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [1, 30, 200, 3_000])
    func `a slow reader receives the last state of each record, and few changes`(records: Int) async throws {
        let router = machine.launch()
        let changes = router.changes(in: notes)
        var iterator = changes.makeAsyncIterator()
        var replay = Replay<Note>()
        try await router.set(Self.note("first", ""), in: notes)
        replay.apply(try #require(try await iterator.next()))
        let rounds = max(2, 200 / records)
        for round in 0..<rounds {
            let batch = (0..<records).map { Self.note("n\($0)", "\(round)") }
            if records == 1 { try await router.set(batch[0], in: notes) } else { try await router.set(batch, in: notes) }
        }
        try await router.set(Self.note("last", ""), in: notes)
        func isComplete() -> Bool {
            replay.records.count == records + 2 && replay.records.values.allSatisfy { $0.text == "\(rounds - 1)" || $0.text.isEmpty }
        }
        while !isComplete() { replay.apply(try #require(try await iterator.next())) }
        #expect(replay.breaks.isEmpty, "\(replay.breaks)")
        #expect(replay.count <= records + 2 + RecordSubscription.mostChanges)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a sequence of changes waits while the router is locked, and then delivers what has changed`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        try await router.set(Self.note("a", "1"), in: notes)
        try await router.set(Self.note("b", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        var replay = Replay<Note>()
        for _ in 0..<2 { replay.apply(try #require(try await changes.next())) }
        // The lock begins before the sequence delivers this change, so the sequence skips it.
        try await router.set(Self.note("a", "2"), in: notes)
        try await router.lock()
        try await other.set(Self.note("a", "3"), in: notes)
        try await other.remove("b", in: notes)
        try await other.set(Self.note("c", "1"), in: notes)
        try await router.unlock()
        while replay.records != ["a": Self.note("a", "3"), "c": Self.note("c", "1")] {
            replay.apply(try #require(try await changes.next()))
        }
        #expect(replay.breaks.isEmpty, "\(replay.breaks)")
        #expect(replay.count == 5)
    }

    @Test(.timeLimit(.minutes(10))) func `no record that was read before a lock is delivered after it`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        for id in ["a", "b", "c"] { try await router.set(Self.note(id, "1"), in: notes) }
        var changes = router.changes(in: notes).makeAsyncIterator()
        var replay = Replay<Note>()
        replay.apply(try #require(try await changes.next()))
        try await router.lock()
        for id in ["a", "b", "c"] where replay.records[id] == nil { try await other.set(Self.note(id, "2"), in: notes) }
        try await router.unlock()
        for _ in 0..<2 { replay.apply(try #require(try await changes.next())) }
        #expect(replay.records.values.map(\.text).sorted() == ["1", "2", "2"])
        #expect(replay.breaks.isEmpty, "\(replay.breaks)")
    }

    @Test(.timeLimit(.minutes(10))) func `a store that another program locks ends the sequence with the error of the read`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("a", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        _ = try await changes.next()
        let other = machine.launch()
        _ = try await other.value("a", in: notes)
        machine.lock(Self.domain)
        for backend in machine.backends(of: Self.domain).dropFirst() { backend.open() }
        try await other.set(Self.note("a", "2"), in: notes)
        do {
            _ = try await changes.next()
            Issue.record("nothing was thrown")
        } catch { #expect(StorageError.locked ~= error, "\(error)") }
        #expect(try await changes.next() == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `a shutdown ends the sequence of changes after the changes before it`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("a", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        _ = try await changes.next()
        try await router.shutdown()
        #expect(try await changes.next() == nil)
        await #expect(throws: StorageError.self) {
            var late = router.changes(in: Note.collection(Self.domain)).makeAsyncIterator()
            _ = try await late.next()
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a cancelled reader gets the error cancelled`() async throws {
        let router = machine.launch()
        let isFollowing = Gate(isOpen: true)
        try await router.set(Self.note("a", "1"), in: notes)
        let notes = notes
        let reader = Task {
            var changes = router.changes(in: notes).makeAsyncIterator()
            _ = try await changes.next()
            await isFollowing.pass()
            return try await changes.next()
        }
        await isFollowing.arrived()
        reader.cancel()
        let error = await #expect(throws: StorageError.self) { _ = try await reader.value }
        #expect(error?.code == StorageError.cancelled)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a store that does not report changes of other processes still delivers those of this process`() async throws {
        let store = SilentStore()
        var configuration = StorageConfiguration.inMemory()
        configuration.useBackend(for: .userDefaults) { _ in store }
        let router = StorageRouter(configuration: configuration)
        try await router.set(Self.note("a", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        _ = try await changes.next()
        try await router.set(Self.note("a", "2"), in: notes)
        #expect(try await changes.next() == .changed(id: "a", old: Self.note("a", "1"), new: Self.note("a", "2")))
    }

    @Test(.timeLimit(.minutes(10))) func `after a change with an unknown outcome, the record is re-read`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("a", "1"), in: notes)
        var changes = router.changes(in: notes).makeAsyncIterator()
        _ = try await changes.next()
        try #require(machine.backends(of: Self.domain).first).inject(.loseAnswer, of: .apply)
        await #expect(throws: StorageError.self) { try await router.set(Self.note("a", "2"), in: notes) }
        #expect(try await changes.next() == .changed(id: "a", old: nil, new: Self.note("a", "2")))
    }

    @Test(.timeLimit(.minutes(10))) func `a damaged record ends the sequence, or counts as removed if it is skipped`() async throws {
        let router = machine.launch()
        try await router.set(Self.note("a", "1"), in: notes)
        try await router.set(Self.note("b", "1"), in: notes)
        var strict = router.changes(in: notes).makeAsyncIterator()
        var skipping = router.changes(in: notes, onDamage: .skip).makeAsyncIterator()
        for _ in 0..<2 {
            _ = try await strict.next()
            _ = try await skipping.next()
        }
        // Another program stores something else under the id and with the type tag of a note.
        try await machine.launch().set(NoNote(broken: 1), in: NoNote.collection(Self.domain, id: "a"))
        let error = await #expect(throws: StorageError.self) { _ = try await strict.next() }
        #expect(error?.code == StorageError.undecodable)
        #expect(try await skipping.next() == .removed(id: "a", old: nil))
        try await router.set(Self.note("b", "2"), in: notes)
        #expect(try await skipping.next()?.record?.text == "2")
    }

    @Test(.timeLimit(.minutes(10))) func `an expired record is removed when a sweep purges it`() async throws {
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.collection(notes)))
        var changes = router.changes(in: notes).makeAsyncIterator()
        try await router.set(Self.note("a", "1"), in: notes, lifetime: .seconds(60))
        #expect(try await changes.next()?.id == "a")
        clock.pass(.seconds(61))
        await router.sweep()
        clock.pass(.seconds(86_401))
        await router.sweep()
        let change = try await changes.next()
        #expect(change?.id == "a" && change?.record == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `a follower does not keep the router after it was released`() async throws {
        weak var released: StorageRouter?
        do {
            let router = machine.launch()
            released = router
            try await router.set(Self.note("a", "1"), in: notes)
            var changes = router.changes(in: notes).makeAsyncIterator()
            _ = try await changes.next()
        }
        while released != nil { await Task.yield() }
    }
}

/// A store in memory that reports no changes.
private struct SilentStore: WrappingBackend {
    let base: any StorageBackend = InMemoryStore()
}
