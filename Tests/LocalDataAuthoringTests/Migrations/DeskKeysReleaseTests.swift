// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it.
import LocalData
import LocalDataTesting
import Testing

@testable import AuthoringSamples

/// The stored values of the catalog DeskKeys: their shapes, and the values of every recorded release.
@Suite struct DeskKeysReleaseTests {
    @Test func `the stored values have the recorded shapes`() throws {
        try requireSchemaUnchanged(DeskKeys(), snapshot: "../../AuthoringSamples/Migrations/DeskKeys/schema.json")
    }

    @Test func `this release reads the values of every recorded release`() async throws {
        try await GoldenStore.replay(DeskKeys(), in: "../../AuthoringSamples/Migrations/DeskKeys")
    }
}
