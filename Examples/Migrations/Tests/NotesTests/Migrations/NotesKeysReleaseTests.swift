// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it.
import LocalData
import LocalDataTesting
import Testing

@testable import Notes

/// The stored values of the catalog NotesKeys: their shapes, and the values of every recorded release.
@Suite struct NotesKeysReleaseTests {
    @Test func `the stored values have the recorded shapes`() throws {
        try requireSchemaUnchanged(NotesKeys(), snapshot: "../../../Migrations/NotesKeys/schema.json")
    }

    @Test func `this release reads the values of every recorded release`() async throws {
        try await GoldenStore.replay(NotesKeys(), in: "../../../Migrations/NotesKeys")
    }
}
