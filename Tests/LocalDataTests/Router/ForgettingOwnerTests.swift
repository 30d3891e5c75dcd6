#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Forgetting in a folder that has stores of another application or of another user.
    struct ForgettingOwnerTests {
        private static let database = StorageDomain.encryptedSQLite(database: "main")
        private static let list = StorageDomain.userDefaults(suite: "list")
        private static let secret = "the-secret-of-kari"

        private static func key(_ domain: StorageDomain = database) -> StorageKey<String> { textKey("a", domain) }

        /// The calls that destroy the database `main` or everything.
        private static let calls: [@Sendable (StorageRouter) async throws -> Void] = [
            { try await $0.forget(database) }, { try await $0.forgetEverything() },
        ]

        /// Returns the contents of all files of a stage, except locks and the files in which SQLite has only an index of its log.
        private func contents(of stage: Stage) throws -> [String: Data] {
            var found: [String: Data] = [:]
            for name in try FileManager.default.subpathsOfDirectory(atPath: stage.root.path)
            where !name.contains("lock") && !name.hasSuffix("-shm") {
                let path = "\(stage.root.path)/\(name)"
                if let data = FileManager.default.contents(atPath: path), !data.isEmpty { found[name] = data }
            }
            return found
        }

        /// Runs calls of a router, which must be refused and change nothing.
        private func expectUnchanged(
            _ stage: Stage, _ code: StorageError.Code, saying text: String,
            _ change: @Sendable (inout StorageConfiguration) -> Void = { _ in },
            calls: [@Sendable (StorageRouter) async throws -> Void] = Self.calls
        ) async throws {
            let before = try contents(of: stage)
            for call in calls {
                let storage = stage.launch(change)
                let error = await expectRefusal(code, saying: text) { try await call(storage) }
                #expect(error?.outcome == .notApplied)
                try await storage.shutdown()
                #expect(try contents(of: stage) == before)
            }
        }

        private func stored(_ change: (inout StorageConfiguration) -> Void = { _ in }) async throws -> Stage {
            let stage = try Stage()
            let storage = stage.launch(change)
            try await storage.set(Self.secret, for: Self.key())
            try await storage.set(Self.secret, for: Self.key(Self.list))
            try await storage.shutdown()
            return stage
        }

        // MARK: Applications

        @Test func `a database of another application is not forgotten, and neither is anything beside it`() async throws {
            let stage = try await stored()
            try await expectUnchanged(stage, .wrongContext, saying: stage.service) { $0.applicationID = "com.example.other" }
            #expect(try await stage.launch().get(Self.key()) == Self.secret)
        }

        @Test func `a database of another tenant is not forgotten`() async throws {
            let stage = try await stored { $0.sealingContext = "one" }
            try await expectUnchanged(stage, .wrongContext, saying: "one") { $0.sealingContext = "two" }
        }

        @Test func `programs with different ids that share their stores forget them`() async throws {
            let stage = try await stored { $0.sealingContext = "group" }
            let other = stage.launch {
                ($0.applicationID, $0.sealingContext) = ("com.example.other", "group")
            }
            try await other.forgetEverything()
            #expect(try stage.traces(of: Self.secret) == [])
        }

        @Test func `a vault of another application is not forgotten`() async throws {
            let stage = try Stage()
            let vault: @Sendable (inout StorageConfiguration) -> Void = { $0.keychain = .sealedVault(.keyFile("vault-key")) }
            let domain = StorageDomain.keychain(service: "tokens")
            let storage = stage.launch(vault)
            try await storage.set(Self.secret, for: Self.key(domain))
            try await storage.shutdown()
            try await expectUnchanged(
                stage, .wrongContext, saying: stage.service,
                {
                    vault(&$0)
                    $0.applicationID = "com.example.other"
                }, calls: [{ try await $0.forget(domain) }, { try await $0.forgetEverything() }])
            let own = stage.launch(vault)
            try await own.forget(domain)
            #expect(try await own.value(for: Self.key(domain)) == nil)
        }

        @Test func `everything is refused for a folder with one database of another application, and single stores are forgotten`()
            async throws
        {
            let stage = try await stored()
            let other = stage.launch { $0.applicationID = "com.example.other" }
            try await other.set("theirs", for: Self.key(.encryptedSQLite(database: "theirs")))
            try await other.shutdown()
            try await expectUnchanged(stage, .wrongContext, saying: "com.example.other", calls: [{ try await $0.forgetEverything() }])
            let own = stage.launch()
            try await own.forget(Self.database)
            try await own.forget(Self.list)
            #expect(try stage.traces(of: Self.secret) == [])
            let theirs = stage.launch { $0.applicationID = "com.example.other" }
            #expect(try await theirs.get(Self.key(.encryptedSQLite(database: "theirs"))) == "theirs")
        }

        @Test func `an adopted database is forgotten by the application that adopted it`() async throws {
            let stage = try await stored()
            let other = stage.launch { $0.applicationID = "com.example.other" }
            try await other.adopt(Self.database, application: stage.service)
            try await other.forgetEverything()
            #expect(try stage.traces(of: Self.secret) == [])
        }

        // MARK: Damage

        /// Damages the database in a way that hides the header, and removes its log.
        private func damage(_ stage: Stage, _ bytes: (Data) -> Data) throws {
            let path = stage.path(ofDatabase: "main")
            let data = try #require(FileManager.default.contents(atPath: path))
            for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
            try bytes(data).write(to: URL(fileURLWithPath: path))
        }

        /// A database whose first page is overwritten, and one that is overwritten as a whole.
        private static let damages: [@Sendable (Data) -> Data] = [
            { Data(repeating: 0xAA, count: 100) + $0.dropFirst(100) }, { Data(repeating: 0xAA, count: $0.count) },
        ]

        @Test(arguments: [0, 1], [0, 1])
        func `a damaged database is forgotten by its application, and refused for another one`(_ damage: Int, _ call: Int) async throws {
            let stage = try await stored()
            try self.damage(stage, Self.damages[damage])
            try await expectUnchanged(stage, damage == 0 ? .wrongContext : .corrupted, saying: "application") {
                $0.applicationID = "com.example.other"
            }
            let own = stage.launch()
            try await Self.calls[call](own)
            #expect(try await own.value(for: Self.key()) == nil)
        }

        @Test func `a damaged database that nothing records is refused until its file is removed`() async throws {
            let stage = try await stored()
            try damage(stage, Self.damages[1])
            try FileManager.default.removeItem(atPath: "\(stage.root.path)/state")
            try await expectUnchanged(stage, .corrupted, saying: stage.path(ofDatabase: "main"))
            try FileManager.default.removeItem(atPath: stage.path(ofDatabase: "main"))
            for call in Self.calls { try await call(stage.launch()) }
            #expect(try stage.traces(of: Self.secret) == [])
        }

        @Test func `a damaged database beside an intact one of the same application is forgotten without the ledger`() async throws {
            let stage = try await stored()
            let storage = stage.launch()
            try await storage.set("second", for: Self.key(.encryptedSQLite(database: "second")))
            try await storage.shutdown()
            try damage(stage, Self.damages[1])
            try FileManager.default.removeItem(atPath: "\(stage.root.path)/state")
            try await stage.launch().forget(Self.database)
            #expect(!FileManager.default.fileExists(atPath: stage.path(ofDatabase: "main")))
        }

        // MARK: Interrupted calls

        @Test func `an interrupted call is not completed by another application, and is by its own`() async throws {
            let stage = try await stored()
            let killed = HookedFiles()
            let storage = stage.launch { $0.runtime.files = killed }
            _ = try await storage.get(Self.key())
            let mark = "\(stage.root.path)/data/forget.json"
            // Kill the process at the first operation that finds the mark.
            for number in 1... {
                killed.arm(.stops, at: number)
                do { try await storage.forgetEverything() } catch {}
                killed.arm(nil)
                if FileManager.default.fileExists(atPath: mark) { break }
            }
            try await expectUnchanged(
                stage, .wrongContext, saying: stage.service, { $0.applicationID = "com.example.other" },
                calls: Self.calls + [{ _ = try await $0.value(for: Self.key()) }])
            #expect(try await stage.launch().value(for: Self.key()) == nil)
            #expect(try stage.traces(of: Self.secret) == [])
            #expect(!FileManager.default.fileExists(atPath: mark))
        }

        @Test func `the mark of an earlier release, which names no application, destroys no database of another one`() async throws {
            let stage = try await stored()
            let mark = "\(stage.root.path)/data/forget.json"
            try Data("{}".utf8).write(to: URL(fileURLWithPath: mark))
            try await expectUnchanged(
                stage, .wrongContext, saying: stage.service, { $0.applicationID = "com.example.other" },
                calls: [{ _ = try await $0.value(for: Self.key()) }])
            #expect(try await stage.launch().value(for: Self.key()) == nil)
        }

        // MARK: Users

        @Test(
            .enabled(if: geteuid() == 0, "changes owners"),
            arguments: ["/data/databases/main.sqlite", "/data/sealing-key", "/data", "/state"])
        func `nothing is forgotten if a file belongs to another user`(_ path: String) async throws {
            let stage = try await stored()
            #expect(chown(stage.root.path + path, 65_534, 65_534) == 0)
            let calls = path.contains("main") ? Self.calls : [{ try await $0.forgetEverything() }]
            try await expectUnchanged(stage, .untrusted, saying: "user 65534", calls: calls)
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners"))
        func `root does not forget a property list of another user`() async throws {
            let stage = try await stored()
            #expect(chown("\(stage.preferences)/list.plist", 65_534, 65_534) == 0)
            try await expectUnchanged(
                stage, .untrusted, saying: "user 65534", calls: [{ try await $0.forget(Self.list) }, { try await $0.forgetEverything() }])
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners"))
        func `the mark of another user is not followed`() async throws {
            let stage = try await stored()
            let mark = "\(stage.root.path)/data/forget.json"
            try Data("{}".utf8).write(to: URL(fileURLWithPath: mark))
            #expect(chown(mark, 65_534, 65_534) == 0)
            try await expectUnchanged(stage, .untrusted, saying: "user 65534", calls: [{ _ = try await $0.value(for: Self.key()) }])
        }
    }
#endif
