// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it.
import Foundation
import LocalData
import LocalDataTesting
import Testing

@testable import AuthoringSamples

/// The steps of release 2 of the catalog DeskKeys.
@Suite struct DeskKeysRelease2Tests {
    @Test func `release 2 reads the values of release 1`() async throws {
        let values = try await GoldenStore.read("1", of: DeskKeys(), in: "../../AuthoringSamples/Migrations/DeskKeys")
        // Release 1 wrote {"fontSize":"1","ruler":true}. State the value that the step makes of it.
        let expectedEditor = try StoredDocument(json: Data(#"{"fontSize":1,"theme":"1"}"#.utf8))
        #expect(values["editor"] == expectedEditor)
        // Release 1 wrote {"1":{"id":"1","title":"1"}}. State the value that the step makes of it.
        let expectedNotes = try StoredDocument(json: Data(#"{"1":{"id":"1","stars":1,"title":"1"}}"#.utf8))
        #expect(values["notes"] == expectedNotes)
        // The value of the key pin is protected, so it is not shown here.
        #expect(values["pin"] != nil)
    }
}
