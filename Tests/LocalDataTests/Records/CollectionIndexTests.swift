import BackendContract
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Collections with and without an index of the attributes of their records.
@Suite(.inTurn) struct CollectionIndexTests {
    @Test(arguments: Place.allCases)
    func `queries by attribute have the same results with and without an index, also after a switch from one to the other`(
        _ place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let indexed = Note.collection(domain)
            let plain = indexed.withoutAttributeIndex()
            #expect(indexed.indexesAttributes && !plain.indexesAttributes)
            func expectRight(_ notes: StorageCollection<Note>) async throws {
                let router = launch()
                for colour in ["red", "blue", "green"] {
                    var ids: [String] = []
                    for try await note in router.records(in: notes, .attribute("colour", colour)) { ids.append(note.id) }
                    let wanted = (0..<6).filter { ["red", "blue"][$0 % 2] == colour }.map { "n\($0)" }
                    #expect(ids.sorted() == wanted)
                    #expect(try await router.count(in: notes, .attribute("colour", colour)) == wanted.count)
                }
            }
            for (number, note) in Note.many(6).enumerated() {
                let notes = number < 4 ? plain : indexed
                try await launch().set(note, in: notes, attributes: ["colour": ["red", "blue"][number % 2]])
            }
            try await expectRight(plain)
            try await expectRight(indexed)
            // The loops write every record again, with and without the index. The records must keep their attributes.
            for note in Note.many(6) { try await launch().set(note, in: indexed) }
            try await expectRight(plain)
            for note in Note.many(6) { try await launch().set(note, in: plain) }
            try await expectRight(indexed)
            #expect(try await launch().row(of: plain)?.state == .unchanged)
        }
    }
}
