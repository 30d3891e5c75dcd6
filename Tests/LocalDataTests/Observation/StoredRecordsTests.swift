import BackendRuntime
import LocalDataTesting
import Observation
import Synchronization
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataObservation

/// The records of an observable collection or query.
@MainActor @Suite(.inTurn) struct StoredRecordsTests {
    private static let domain = StorageDomain.userDefaults(suite: "main")
    private let machine = TestMachine()
    private let notes = Note.collection(Self.domain)

    private static func note(_ id: String, _ text: String) -> Note { Note(id: id, text: text) }

    private func isLoaded<Record>(_ stored: StoredRecords<Record>) -> Bool { if case .loaded = stored.state { true } else { false } }

    @Test(.timeLimit(.minutes(10))) func `an object loads all records in the order of their ids, and follows every change`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        try await router.set(Note.many(1_000), in: notes)
        let stored = StoredRecords(notes, in: router)
        #expect(stored.records.isEmpty)
        await until { isLoaded(stored) ? () : nil }
        #expect(stored.records == Note.many(1_000).sorted { $0.id < $1.id })
        try await stored.set(Self.note("a", "own"))
        #expect(stored.records.first == Self.note("a", "own"))
        try await stored.remove(id: "n999")
        #expect(stored.records.last?.id == "n998")
        try await other.set(Self.note("z", "other"), in: notes)
        _ = await until { stored.records.last?.id == "z" ? true : nil }
        try await other.remove("a", in: notes)
        _ = await until { stored.records.first?.id == "n0" ? true : nil }
        #expect(stored.records.count == 1_000)
    }

    @Test(.timeLimit(.minutes(10))) func `a read that finds no change does not notify observers`() async throws {
        let router = machine.launch()
        try await router.set(Note.many(3), in: notes)
        let stored = StoredRecords(notes, in: router)
        try await stored.set(Self.note("a", "1"))
        let isNotified = Shared(false)
        withObservationTracking {
            _ = stored.records
        } onChange: {
            isNotified.value.withLock { $0 = true }
        }
        router.slots.committer.hub.lookAgain(nil)
        // The removal of a record that is not there waits until the records were read again.
        try await stored.remove(id: "none")
        let isNotifiedEarly = isNotified.value.withLock { $0 }
        #expect(!isNotifiedEarly)
        try await stored.set(Self.note("b", "1"))
        let isNotifiedLater = isNotified.value.withLock { $0 }
        #expect(isNotifiedLater)
    }

    @Test(.timeLimit(.minutes(10))) func `an empty collection is loaded`() async throws {
        let stored = StoredRecords(notes, in: machine.launch())
        await until { isLoaded(stored) ? () : nil }
        #expect(stored.records.isEmpty)
    }

    @Test(.timeLimit(.minutes(10))) func `with a limit, removed records are replaced by the next ones, also after another read`()
        async throws
    {
        let router = machine.launch()
        try await router.set((0..<50).map { Self.note("n\($0 + 10)", "x") }, in: notes)
        let plan = RecordPlan(notes, matches: { $0.text == "x" }, precedes: { $0.id > $1.id }, limit: 3)
        let stored = StoredRecords(plan, router, .throw)
        await until { isLoaded(stored) ? () : nil }
        for last in (13..<60).reversed() {
            #expect(stored.records.map(\.id) == ["n\(last)", "n\(last - 1)", "n\(last - 2)"])
            if last % 2 == 0 { try await stored.remove(id: "n\(last)") } else { try await stored.set(Self.note("n\(last)", "y")) }
        }
        try await stored.set(Self.note("n99", "x"))
        #expect(stored.records.first?.id == "n99")
    }

    @Test(.timeLimit(.minutes(10))) func `a locked router drops the records, and shows the present ones after it is unlocked`() async throws
    {
        let (router, other) = (machine.launch(), machine.launch())
        try await router.set(Note.many(3), in: notes)
        let stored = StoredRecords(notes, in: router)
        await until { isLoaded(stored) ? () : nil }
        try await router.lock()
        await until { if case .locked = stored.state { () } else { nil } }
        #expect(stored.records.isEmpty)
        try await other.remove("n0", in: notes)
        try await router.unlock()
        await until { isLoaded(stored) ? () : nil }
        #expect(stored.records.map(\.id) == ["n1", "n2"])
    }

    @Test(.timeLimit(.minutes(10))) func `a store that becomes available again is read after a pause`() async throws {
        let clock = ManualClock()
        let machine = TestMachine { $0.runtime.clock = clock }
        try await machine.launch().set(Note.many(2), in: notes)
        machine.makeUnavailable(Self.domain)
        let stored = StoredRecords(notes, in: machine.launch())
        let error = await until { if case .failed(let error) = stored.state { error } else { nil } }
        #expect(error.code == StorageError.unavailable)
        machine.makeAvailable(Self.domain)
        clock.advance(by: .seconds(1))
        await until { isLoaded(stored) ? () : nil }
        #expect(stored.records.count == 2)
    }

    @Test(.timeLimit(.minutes(10))) func `a damaged record is a failure, or is left out if it is skipped`() async throws {
        let router = machine.launch()
        try await router.set(Note.many(2), in: notes)
        try await router.set(NoNote(broken: 1), in: NoNote.collection(Self.domain, id: "n0"))
        let strict = StoredRecords(notes, in: router)
        let error = await until { if case .failed(let error) = strict.state { error } else { nil } }
        #expect(error.code == StorageError.undecodable)
        let skipping = StoredRecords(notes, in: router, onDamage: .skip)
        await until { isLoaded(skipping) ? () : nil }
        #expect(skipping.records.map(\.id) == ["n1"])
        // The object that has failed begins again after a change.
        try await router.set(Self.note("n0", "new"), in: notes)
        await until { isLoaded(strict) ? () : nil }
        #expect(strict.records.map(\.id) == ["n0", "n1"])
    }

    @Test(.timeLimit(.minutes(10))) func `an object that was released ends its following`() async throws {
        weak var released: StorageRouter?
        do {
            let router = machine.launch()
            released = router
            let stored = StoredRecords(notes, in: router)
            try await stored.set(Self.note("a", "1"))
            #expect(stored.records.count == 1)
        }
        while released != nil { await Task.yield() }
    }
}
