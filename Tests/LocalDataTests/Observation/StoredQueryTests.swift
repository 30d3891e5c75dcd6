import LocalData
import LocalDataObservation
import LocalDataQueries
import LocalDataTesting
import TestSupport
import Testing

/// The records of an observable query.
@MainActor @Suite(.inTurn) struct StoredQueryTests {
    @Test(.timeLimit(.minutes(10))) func `an object shows the records that match a query, in its order and up to its limit`() async throws {
        let notes = Note.collection(.userDefaults(suite: "main"))
        let router = TestMachine().launch()
        try await router.set((0..<9).map { Note(id: "n\($0)", text: $0 % 2 == 0 ? "even" : "odd") }, in: notes)
        let query = RecordQuery(in: notes, where: \.text == "even", orderedBy: .descending(\.id), limit: 2)
        let stored = StoredRecords(query, in: router)
        await until { if case .loaded = stored.state { () } else { nil } }
        #expect(stored.records.map(\.id) == ["n8", "n6"])
        try await stored.remove(id: "n8")
        #expect(stored.records.map(\.id) == ["n6", "n4"])
        try await stored.set(Note(id: "n5", text: "even"))
        #expect(stored.records.map(\.id) == ["n6", "n5"])
        try await stored.set(Note(id: "n7", text: "odd"))
        #expect(stored.records.map(\.id) == ["n6", "n5"])
    }
}
