#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Databases of one program under several keys.
    @Suite(.inTurn) struct DatabaseKeyTests {
        private func group(_ database: String) -> StorageKeyGroup {
            StorageKeyGroup(owner: "Tests", domain: .encryptedSQLite(database: database))
        }

        @Test func `values come under another key by moving into another database, and the first key can then go`() async throws {
            let stage = try Stage()
            let old: StorageKey<String> = group("documents").key("draft", "The draft, under the first key")
            let draft: StorageKey<String> = group("documents-2").key("draft", "The draft").moved(from: old)
            let first = stage.launch { $0.keySource = .keyFile("first-key") }
            try await first.set("under the stone", for: old)
            try await first.shutdown()

            let both = stage.launch {
                $0.keySource = .keyFile("second-key")
                $0.databaseKeySources["documents"] = .keyFile("first-key")
            }
            #expect(try await both.get(draft) == "under the stone")
            #expect(try await both.exists(old) == false)
            try await both.shutdown()

            try FileManager.default.removeItem(atPath: stage.root.path + "/data/first-key")
            let second = stage.launch { $0.keySource = .keyFile("second-key") }
            #expect(try await second.get(draft) == "under the stone")
            try await second.shutdown()
            #expect(try stage.traces(of: "under the stone").isEmpty)
        }
    }
#endif
