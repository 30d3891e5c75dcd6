#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import Synchronization
    import TestSupport
    import Testing

    /// Databases that cannot be opened, or have no key. The key comes from a key source, such as a key file, a
    /// passphrase or the keyring.
    @Suite(.inTurn) struct DatabaseOpeningTests {
        let secret = "correct-horse-battery-staple"
        let key = textKey("a", .encryptedSQLite(database: "main"))

        private func files(_ stage: Stage) throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: stage.directory.path).filter {
                !$0.contains("/locks") && !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal")
            }.sorted()
        }

        private func expectUnavailable(_ router: StorageRouter, _ code: StorageError.Code) async {
            #expect(await router.status(of: key.domain).error?.code == code)
        }

        @Test func `reads and removals create no database, no key and no folder`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            #expect(try await router.value(for: key) == nil)
            #expect(try await !router.exists(key))
            #expect(try await router.names(of: key.domain).isEmpty)
            if case .ready = await router.status(of: key.domain) {} else { Issue.record("the database is not ready") }
            try await router.remove(key)
            try await router.unlock(key.domain)
            #expect(try await router.row(of: key).state == .absent)
            try await router.shutdown()
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data"))
        }

        @Test(arguments: [true, false]) func `a database whose key is missing stays closed, and no key is created`(
            hasLedger: Bool
        ) async throws {
            let stage = try Stage()
            let keyFile = stage.root.path + "/data/sealing-key"
            let first = stage.launch()
            try await first.set(secret, for: key)
            try await first.shutdown()
            let right = try String(contentsOfFile: keyFile, encoding: .utf8)
            try FileManager.default.removeItem(atPath: keyFile)
            if !hasLedger { try FileManager.default.removeItem(atPath: stage.root.path + "/state") }
            let router = stage.launch()
            let before = try files(stage)
            for body: () async throws -> Void in [
                { _ = try await router.get(key) }, { try await router.set("new", for: key) }, { try await router.remove(key) },
                { try await router.update(key) { $0 = "new" } }, { try await router.batch { $0.set("new", for: key) } },
            ] {
                await expectRefusal(StorageError.encryptionKeyMissing, of: "a", saying: "Restore the key", body: body)
            }
            await expectRefusal(StorageError.encryptionKeyMissing) { _ = try await router.names(of: key.domain) }
            await expectUnavailable(router, StorageError.encryptionKeyMissing)
            #expect(try await router.row(of: key).errorCode == .encryptionKeyMissing)
            #expect(try files(stage) == before)
            try Data(right.utf8).write(to: URL(fileURLWithPath: keyFile))
            try setPermissions(0o600, of: keyFile)
            // After the key was restored, this router opens the database.
            #expect(try await router.get(key) == secret)
        }

        @Test(arguments: [true, false]) func `a database with a wrong key stays closed until the right key is restored`(
            hasLedger: Bool
        ) async throws {
            let stage = try Stage()
            let keyFile = stage.root.path + "/data/sealing-key"
            let first = stage.launch()
            try await first.set(secret, for: key)
            try await first.shutdown()
            let right = try Data(contentsOf: URL(fileURLWithPath: keyFile))
            if !hasLedger { try FileManager.default.removeItem(atPath: stage.root.path + "/state") }
            let other = try Stage()
            try await other.launch().set("x", for: key)
            let wrong = try Data(contentsOf: URL(fileURLWithPath: other.root.path + "/data/sealing-key"))
            let router = stage.launch()
            let short = right.dropLast(9) + Data("\n".utf8)
            let foreign = Data("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ".utf8)
            for bytes in [wrong, short, foreign, Data("garbage".utf8), Data((0...255).map { UInt8($0) }), Data()] {
                try bytes.write(to: URL(fileURLWithPath: keyFile))
                try setPermissions(0o600, of: keyFile)
                await expectRefusal(StorageError.encryptionKeyMismatch, of: "a", saying: "Restore") { _ = try await router.get(key) }
                await expectRefusal(StorageError.encryptionKeyMismatch, of: "a", saying: "Restore") {
                    try await router.set("new", for: key)
                }
                await expectUnavailable(router, StorageError.encryptionKeyMismatch)
                #expect(try Data(contentsOf: URL(fileURLWithPath: keyFile)) == bytes)
            }
            try right.write(to: URL(fileURLWithPath: keyFile))
            #expect(try await router.get(key) == secret)
        }

        @Test func `a key file that other users can read is refused, and no other key is created`() async throws {
            let stage = try Stage()
            let keyFile = stage.root.path + "/data/sealing-key"
            try await stage.launch().set(secret, for: key)
            let right = try Data(contentsOf: URL(fileURLWithPath: keyFile))
            try setPermissions(0o644, of: keyFile)
            let router = stage.launch()
            await expectRefusal(StorageError.accessDenied, of: "a", saying: "chmod 600") { _ = try await router.get(key) }
            await expectRefusal(StorageError.accessDenied, of: "a", saying: "chmod 600") { try await router.set("new", for: key) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: keyFile)) == right)
            try setPermissions(0o600, of: keyFile)
            #expect(try await router.get(key) == secret)
        }

        @Test func `a database that was created with another key source is refused, and the error names the source`() async throws {
            let stage = try Stage()
            try await stage.launch().set(secret, for: key)
            let router = stage.launch { $0.databaseKeySources["main"] = .keyFile("another-key") }
            await expectRefusal(StorageError.encryptionKeyMismatch, of: "a", saying: "sealing-key") { _ = try await router.get(key) }
            await expectRefusal(StorageError.encryptionKeyMismatch, of: "a", saying: "another-key") {
                try await router.set("new", for: key)
            }
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data/another-key"))
            #expect(try await stage.launch().get(key) == secret)
        }

        @Test(.timeLimit(.minutes(10))) func `a database is locked without its passphrase and opens with it`() async throws {
            let stage = try Stage()
            let given = Mutex<String?>(nil)
            let asked = Mutex<[String]>([])
            func launch() -> StorageRouter {
                stage.launch {
                    $0.databaseKeySources["main"] = .passphrase("documents")
                    $0.passphrase = { name in
                        asked.withLock { $0.append(name) }
                        return given.withLock(\.self)
                    }
                }
            }
            let router = launch()
            await expectRefusal(StorageError.locked, of: "a") { try await router.set(secret, for: key) }
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data"))
            given.withLock { $0 = "open sesame" }
            try await router.set(secret, for: key)
            #expect(Set(asked.withLock(\.self)) == ["documents"])
            #expect(FileManager.default.fileExists(atPath: stage.root.path + "/data/documents.passphrase"))

            given.withLock { $0 = nil }
            let next = launch()
            await expectRefusal(StorageError.locked, of: "a") { _ = try await next.get(key) }
            if case .locked = await next.status(of: key.domain) {} else { Issue.record("the database is not locked") }
            await expectRefusal(StorageError.locked, of: "\(key.domain)", saying: "No passphrase was given") {
                try await next.unlock(key.domain)
            }
            let source = textKey("old", .userDefaults(suite: "legacy"))
            try await next.set("v", for: source)
            let moved = textKey("b", key.domain).moved(from: source)
            #expect(try await next.row(of: moved).state == .blocked)
            given.withLock { $0 = "another" }
            await expectRefusal(StorageError.encryptionKeyMismatch, of: "a") { _ = try await next.get(key) }
            given.withLock { $0 = "open sesame" }
            try await next.unlock(key.domain)
            #expect(try await next.get(key) == secret)
            #expect(try await next.row(of: moved).state == .moved)
            #expect(try stage.traces(of: "open sesame").isEmpty)
            let count = asked.withLock(\.count)
            for _ in 0..<10 { _ = try await next.get(key) }
            #expect(asked.withLock(\.count) == count)
        }

        #if Keyring
            @Test func `a database whose key is in a locked keyring is locked, and opens when the keyring is unlocked`() async throws {
                let stage = try Stage()
                let keyring = try PrivateKeyring(.unlocked)
                let worker = try stage.worker(keyring.environment)
                #expect(try await worker.run("put", "database:ringed", "a", "v") == "done")
                try keyring.lock()
                let next = try stage.worker(keyring.environment)
                let refused = try await next.run("look", "database:ringed", "a")
                #expect(refused.contains("locked"), "\(refused)")
                #expect(try await next.run("put", "database:ringed", "a", "w").contains("locked"))
                // A process that has already loaded the key continues to read.
                #expect(try await worker.run("look", "database:ringed", "a") == "value v")
                try keyring.unlock()
                #expect(try await next.run("look", "database:ringed", "a") == "value v")
                let audit = stage.launch { $0.databaseKeySources["ringed"] = .keychain }
                try await audit.registerCatalog(TestCatalog([.key(textKey("a", .encryptedSQLite(database: "ringed")))], minimum: .keychain))
            }
        #endif

        @Test func `after a shutdown the write-ahead log is empty, and the database opens again`() async throws {
            let stage = try Stage()
            for round in 0..<3 {
                let router = stage.launch()
                try await router.set("\(round)", for: key)
                try await router.shutdown()
                let log = try FileManager.default.attributesOfItem(atPath: stage.path(ofDatabase: "main") + "-wal")[.size] as? Int
                #expect(log ?? 0 == 0)
                #expect(try await stage.launch().get(key) == "\(round)")
            }
        }

        @Test(arguments: [
            "../x", "/etc/passwd", "a/b", "file:x", "", ".", "..", "-x", ".x", "a\0b", "a\nb", "a b", "~", "caf\u{E9}", "\u{1F426}",
            "a?mode=memory",
            ":memory:", String(repeating: "x", count: 300), String(repeating: "x", count: 201),
        ])
        func `a hostile database name is refused, and no file is created`(name: String) async throws {
            let stage = try Stage()
            let router = stage.launch()
            try await router.set("neighbour", for: key)
            let before = try files(stage)
            let hostile = textKey("a", .encryptedSQLite(database: name))
            await expectRefusal(StorageError.invalidName, of: "a", saying: "not a path") { try await router.set(secret, for: hostile) }
            await expectRefusal(StorageError.invalidName, of: "a") { _ = try await router.value(for: hostile) }
            await expectRefusal(StorageError.invalidName, of: "a") { try await router.remove(hostile) }
            await expectRefusal(StorageError.invalidName) { _ = try await router.names(of: hostile.domain) }
            await expectRefusal(StorageError.invalidName) {
                _ = try await router.value(for: textKey("b", .userDefaults).moved(from: hostile))
            }
            await expectRefusal(StorageError.invalidName) { try await router.registerCatalog(TestCatalog(.key(hostile))) }
            let inMemory = StorageRouter(configuration: .inMemory())
            await expectRefusal(StorageError.invalidName, of: "a") { try await inMemory.set(secret, for: hostile) }
            #expect(try files(stage) == before)
            #expect(try await router.get(key) == "neighbour")
        }

        @Test func `database names that differ in case are different databases, and a name of the greatest length works`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let names = ["Main", "main", "main.sqlite", "m", "0", "a-b_c.d", String(repeating: "x", count: 200)]
            for name in names { try await router.set(name, for: textKey("a", .encryptedSQLite(database: name))) }
            for name in names { #expect(try await stage.launch().get(textKey("a", .encryptedSQLite(database: name))) == name) }
        }
    }
#endif
