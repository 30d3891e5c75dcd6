#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Databases of one program with different keys. To seal a value is to encrypt it.
    @Suite(.inTurn) struct DatabaseKeyTests {
        private func group(_ database: String) -> StorageKeyGroup {
            StorageKeyGroup(owner: "Tests", domain: .encryptedSQLite(database: database))
        }

        @Test func `values move to a database with another key, and the first key can then be deleted`() async throws {
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

        @Test(arguments: [true, false]) func `a program whose folders were deleted seals no value that the next process cannot open`(
            deletesAll: Bool
        ) async throws {
            let stage = try Stage()
            let draft: StorageKey<String> = group("documents").key("draft", "The draft")
            let router = stage.launch()
            try await router.set("first", for: draft)
            try FileManager.default.removeItem(atPath: stage.root.path + (deletesAll ? "" : "/data"))

            var refusal: StorageError?
            do { try await router.set("second", for: draft) } catch let error as StorageError { refusal = error }
            try await router.shutdown()
            let next = stage.launch()
            if deletesAll {
                // All data that was encrypted with the first key is deleted, too. So the program may create a new key,
                // as at its first start.
                #expect(refusal == nil)
                #expect(try await next.get(draft) == "second")
            } else {
                // The ledger records which keys were used, and still exists. So the program knows that a key is
                // missing, and creates none.
                #expect(refusal?.code == .encryptionKeyMissing)
                #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data/databases/documents.sqlite"))
                await #expect(throws: StorageError.self) { try await next.set("third", for: draft) }
            }
            try await next.shutdown()
        }

        @Test func `after its key file is deleted, a running program seals no new value and still reads old values`() async throws {
            let stage = try Stage()
            let token = textKey("token", .userDefaults, .encrypted)
            let clock = ManualClock()
            let router = stage.launch { $0.runtime.clock = clock }
            try await router.set("first", for: token)
            try FileManager.default.removeItem(atPath: stage.root.path + "/data")
            clock.advance(by: .seconds(2))
            let refused = await #expect(throws: StorageError.self) { try await router.set("second", for: token) }
            #expect(refused?.code == .encryptionKeyMissing)
            #expect(try await router.get(token) == "first")
            try await router.shutdown()
        }
    }
#endif
