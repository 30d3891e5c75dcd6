// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it.
import Foundation
import LocalData
import LocalDataTesting
import Testing

@testable import Notes

/// The steps of release 2 of the catalog NotesKeys.
@Suite struct NotesKeysRelease2Tests {
    @Test func `release 2 reads the values of release 1`() async throws {
        let values = try await GoldenStore.read("1", of: NotesKeys(), in: "../../../Migrations/NotesKeys")
        // Release 1 wrote {"fontName":"1","fontSize":"1"}. State the value that the step makes of it.
        let expectedEditor = try StoredDocument(json: Data(#"{"fontName":"1","fontSize":1}"#.utf8))
        #expect(values["editor"] == expectedEditor)
        // Release 1 wrote {"1":{"id":"1","title":"1"}}. State the value that the step makes of it.
        let expectedNotes = try StoredDocument(json: Data(#"{"1":{"id":"1","stars":0,"title":"1"}}"#.utf8))
        #expect(values["notes"] == expectedNotes)
    }
}
