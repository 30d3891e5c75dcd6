// The samples of the page on snapshots and golden stores. `Scripts/check-snippets` compares them with the page.
// snippet.hide
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

extension StorageKey where Value == String {
    fileprivate static let title: Self = StorageKeyGroup(owner: "Notes", domain: .userDefaults).key("title", "The title")
}

private struct AppKeys: StorageKeyCatalog {
    var keys: [AnyStorageKey] = [.key(.title)]
    var allKeys: [AnyStorageKey] { keys }
}

@Suite(.inTurn) struct GuideFixtureTests {
    @Test func `the first run writes a schema snapshot, and later runs compare the schema with it`() throws {
        let directory = try TemporaryDirectory()
        let snapshot = directory.file("Fixtures/AppKeys.schema.json")
        func compare() throws {
            // snippet.show
            try requireSchemaUnchanged(AppKeys(), snapshot: snapshot)
            // snippet.hide
        }
        #expect(throws: FixtureMismatch.self) { try compare() }
        try compare()
        let other: StorageKey<Int> = StorageKeyGroup(owner: "Notes", domain: .userDefaults).key("title", "The title")
        #expect {
            try requireSchemaUnchanged(AppKeys(keys: [.key(other)]), snapshot: snapshot)
        } throws: {
            "\($0)".contains("AppKeys/title was string and is integer; raise the version and add a step")
        }
    }

    @Test func `the store of a release is recorded once, and every later release reads it`() async throws {
        let directory = try TemporaryDirectory()
        let releases = directory.file("Fixtures/Releases")
        // snippet.show
        // Once, when 1.0 is released:
        try await GoldenStore.record("1.0", of: AppKeys(), in: releases) { storage in
            try await storage.set("Milk", for: .title)
        }

        // In every later release:
        try await GoldenStore.replay(AppKeys(), in: releases)
        // snippet.hide
        await #expect(throws: FixtureMismatch.self) {
            try await GoldenStore.record("1.0", of: AppKeys(), in: releases) { try await $0.set("Bread", for: .title) }
        }
        let other: StorageKey<String> = StorageKeyGroup(owner: "Notes", domain: .userDefaults).key("heading", "The title")
        await #expect(throws: FixtureMismatch.self) { try await GoldenStore.replay(AppKeys(keys: [.key(other)]), in: releases) }
    }
}
