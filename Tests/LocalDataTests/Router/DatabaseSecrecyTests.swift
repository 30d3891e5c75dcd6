#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Values that move into an encrypted database, from plaintext or from another encryption.
    ///
    /// After the move, no file contains their plaintext. To seal a value is to encrypt it.
    @Suite(.slow("goes through real files many times"), .inTurn) struct DatabaseSecrecyTests {
        let secret = "correct-horse-battery-staple"

        @Test func `the search finds a text in every encoding`() throws {
            let folder = try TemporaryDirectory()
            let search = SecretSearch(secret)
            func isFound(_ data: Data) throws -> Bool {
                try data.write(to: URL(fileURLWithPath: folder.file("file")))
                return try !search.files(below: URL(fileURLWithPath: folder.path)).isEmpty
            }
            for padding in 0..<7 {
                let text = String(repeating: "x", count: padding) + secret + String(repeating: "y", count: padding % 4)
                #expect(try isFound(Data(text.utf8)))
                #expect(try isFound(Data(Data(text.utf8).base64EncodedString().utf8)))
                #expect(try isFound(Data(hexadecimalText(of: text.utf8).uppercased().utf8)))
                #expect(try isFound(try #require(text.data(using: .utf16))))
                #expect(try isFound(try #require(text.data(using: .utf16BigEndian))))
            }
            for fingerprint in SecretSearch.fingerprints(of: secret) {
                #expect(try isFound(fingerprint))
                #expect(try isFound(Data(hexadecimalText(of: fingerprint).utf8)))
            }
            #expect(try !isFound(Data("correct-horse-battery-stable".utf8)))
        }

        /// Searches every file twice: while the database and its write-ahead log are open, and after the shutdown.
        private func expectNoTrace(_ stage: Stage, _ router: StorageRouter, of texts: String...) async throws {
            #expect(FileManager.default.fileExists(atPath: stage.path(ofDatabase: "safe") + "-wal"))
            for text in texts { #expect(try stage.traces(of: text).isEmpty) }
            try await router.shutdown()
            for text in texts { #expect(try stage.traces(of: text).isEmpty) }
            #expect(FileManager.default.fileExists(atPath: stage.path(ofDatabase: "safe")))
        }

        @Test(arguments: [false, true]) func `no file contains a plaintext value after the value moved into an encrypted database`(
            bySweep: Bool
        ) async throws {
            let stage = try Stage()
            let router = stage.launch()
            let source = textKey("token", .userDefaults(suite: "legacy"), .none)
            let key = textKey("token", .encryptedSQLite(database: "safe")).moved(from: source)
            try await router.set("other", for: textKey("other", .userDefaults(suite: "legacy"), .none))
            try await router.set(secret, for: source)
            #expect(try stage.traces(of: secret) == ["legacy.plist"])
            if bySweep {
                #expect(try await router.row(of: key).state == .moved)
            } else {
                #expect(try await router.get(key) == secret)
            }
            try await expectNoTrace(stage, router, of: secret)
            #expect(try await stage.launch().get(key) == secret)
        }

        @Test func `a text that a property list stores as data is in no file after its move`() async throws {
            let stage = try Stage()
            try stage.writePropertyList(["token": Data("\"\(secret)\"".utf8)], suite: "legacy")
            #expect(try stage.traces(of: secret) == ["legacy.plist"])
            let router = stage.launch()
            let key = textKey("token", .encryptedSQLite(database: "safe")).moved(
                from: textKey("token", .userDefaults(suite: "legacy"), .none))
            #expect(try await router.get(key) == secret)
            try await expectNoTrace(stage, router, of: secret)
        }

        @Test func `a value that was sealed with another key moves into the database and no longer needs that key`()
            async throws
        {
            let stage = try Stage()
            let keyFile = stage.directory.file("old-key")
            let before = textKey("token", .userDefaults(suite: "legacy"), .encrypted(.keyFile(keyFile)))
            let key = textKey("token", .encryptedSQLite(database: "safe")).moved(from: before)
            let router = stage.launch()
            try await router.set(secret, for: before)
            let old = try String(contentsOfFile: keyFile, encoding: .utf8)
            #expect(try await router.get(key) == secret)
            #expect(try await !router.exists(before))
            try await expectNoTrace(stage, router, of: secret)
            #expect(try String(contentsOfFile: stage.root.path + "/data/sealing-key", encoding: .utf8) != old)
            try FileManager.default.removeItem(atPath: keyFile)
            #expect(try await stage.launch().get(key) == secret)
        }

        @Test func `a value that moves from a database with another key leaves no plaintext and no longer needs that key`() async throws {
            let stage = try Stage()
            let change: (inout StorageConfiguration) -> Void = { $0.databaseKeySources["safe"] = .keyFile("safe-key") }
            let router = stage.launch(change)
            let before = textKey("token", .encryptedSQLite(database: "before"))
            let key = textKey("token", .encryptedSQLite(database: "safe")).moved(from: before)
            try await router.set(secret, for: before)
            #expect(try await router.get(key) == secret)
            try await expectNoTrace(stage, router, of: secret)
            try FileManager.default.removeItem(atPath: stage.root.path + "/data/sealing-key")
            #expect(try await stage.launch(change).get(textKey("token", .encryptedSQLite(database: "safe"))) == secret)
        }

        @Test func `no file contains the plaintext of replaced, removed and conflicting values`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let source = textKey("token", .userDefaults(suite: "legacy"), .none)
            let key = textKey("token", .encryptedSQLite(database: "safe")).moved(from: source)
            try await router.set(secret + "-first", for: source)
            _ = try await router.get(key)
            try await router.set(secret + "-second", for: key)
            // The losing value goes into quarantine, the store for displaced values. There it is encrypted, as in the
            // database.
            try await router.set(secret + "-third", for: source)
            #expect(try await router.row(of: key).state == .resolved)
            let kept = try #require(try await router.audit().quarantine.first)
            #expect(kept.isSealed)
            #expect(String(decoding: try await router.quarantine.data(of: kept), as: UTF8.self).contains(secret + "-third"))
            try await router.remove(textKey("token", .encryptedSQLite(database: "safe")))
            try await router.set(secret + "-fourth", for: textKey("large", .encryptedSQLite(database: "safe")))
            try await expectNoTrace(stage, router, of: secret)
        }
    }
#endif
