#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// A missing sealing key is never replaced by a new key while data exists that is encrypted (sealed) with it.
    ///
    /// This holds for every kind of store, with and without the ledger. A key source is where a key is stored, such as
    /// a key file. The ledger records which key each key source had.
    @Suite(.inTurn) struct KeySourceRuleTests {
        enum Sealed: CaseIterable, CustomTestStringConvertible {
            case database, vault, list, quarantine
            var testDescription: String { "\(self)" }
        }

        let list = textKey("b", .userDefaults(suite: "sealed"), .encrypted)

        func launch(_ stage: Stage) -> StorageRouter { stage.launch { $0.keychain = .sealedVault(.configured) } }

        /// Seals a value in one kind of store, and in no other.
        func seal(_ sealed: Sealed, _ stage: Stage) async throws {
            let router = launch(stage)
            switch sealed {
            case .database: try await router.set("v", for: textKey("a", .encryptedSQLite(database: "main")))
            case .vault: try await router.set("v", for: textKey("a", .keychain))
            case .list: try await router.set("v", for: list)
            case .quarantine:
                // A plaintext value in the slot of an encrypted key is unreadable and goes into quarantine, which seals
                // it.
                try await router.set("plain", for: textKey("torn", .userDefaults(suite: "torn")))
                try await router.set("v", for: textKey("old", .userDefaults(suite: "legacy")))
                _ = try await router.get(torn(.userDefaults(suite: "torn")))
                try #require(try await router.audit().quarantine.map(\.isSealed) == [true])
                try await router.remove(textKey("torn", .userDefaults(suite: "torn")))
            }
            try await router.shutdown()
        }

        func torn(_ domain: StorageDomain) -> StorageKey<String> {
            textKey("torn", domain, .encrypted).moved(from: textKey("old", .userDefaults(suite: "legacy")))
        }

        @Test func `the time to enter a passphrase counts against no deadline`() async throws {
            let stage = try Stage()
            let clock = ManualClock()
            func launch() -> StorageRouter {
                stage.launch {
                    $0.keySource = .passphrase("slow")
                    $0.scryptCost = ScryptCost.tooCheapForAnythingButTests(logN: 1, blockSize: 1, parallelism: 1)
                    $0.deadlines = Deadlines(files: .seconds(10), keychain: .seconds(10))
                    $0.runtime.clock = clock
                    $0.passphrase = { _ in
                        clock.advance(by: .seconds(60))
                        return "open sesame"
                    }
                }
            }
            let row = textKey("a", .encryptedSQLite(database: "main"))
            try await launch().set("v", for: row)
            #expect(try await launch().get(row) == "v")
            let router = launch()
            try await router.set("w", for: row)
            #expect(try await router.names(of: row.domain) == ["a"])
        }

        @Test(arguments: Sealed.allCases, [true, false]) func `no new key is created beside data that a missing key has sealed`(
            sealed: Sealed, hasLedger: Bool
        ) async throws {
            let stage = try Stage()
            try await seal(sealed, stage)
            let keyFile = stage.root.path + "/data/sealing-key"
            let right = try Data(contentsOf: URL(fileURLWithPath: keyFile))
            try FileManager.default.removeItem(atPath: keyFile)
            if !hasLedger { try FileManager.default.removeItem(atPath: stage.root.path + "/state") }

            func actions() -> [(String, (StorageRouter) async throws -> Void)] {
                [
                    ("a new database", { try await $0.set("w", for: textKey("c", .encryptedSQLite(database: "other"))) }),
                    ("a new vault", { try await $0.set("w", for: textKey("c", .keychain(service: "other"))) }),
                    ("a new seal", { try await $0.set("w", for: textKey("c", .userDefaults(suite: "other"), .encrypted)) }),
                    (
                        "the quarantine",
                        {
                            try await $0.set("plain", for: textKey("torn", .userDefaults(suite: "again")))
                            try await $0.set("v", for: textKey("old", .userDefaults(suite: "legacy")))
                            _ = try await $0.get(torn(.userDefaults(suite: "again")))
                        }
                    ),
                ]
            }
            for (name, action) in actions() {
                let router = launch(stage)
                // The router finds the sealed values in property lists through the registered catalogs.
                try await router.registerCatalog(TestCatalog(.key(list)))
                let error = try await #require(throws: StorageError.self, "\(name) took a new key beside \(sealed)") {
                    try await action(router)
                }
                #expect(error.code == StorageError.encryptionKeyMissing, "\(name) beside \(sealed): \(error)")
                #expect(!FileManager.default.fileExists(atPath: keyFile), "\(name) beside \(sealed)")
            }
            try right.write(to: URL(fileURLWithPath: keyFile))
            try setPermissions(0o600, of: keyFile)
            for (_, action) in actions() { try await action(launch(stage)) }
        }

        @Test func `a program notes the use of its key in a file, and removes the file when it ends`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            try await router.set("v", for: textKey("a", .encryptedSQLite(database: "main")))
            let folder = stage.root.appending(path: "locks/keys").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
            try await router.shutdown()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }

        /// A key source whose key another process creates between the first load and the second.
        private final class LateSource: KeySource {
            let key = SealingKey.random(Runtime.live.randomBytes)
            private let looks = Mutex(0)
            let (identifier, pin, protection) = ("late source", "late", ProtectionLevel.sealed)
            func load() async throws(BackendError) -> SourceKeys? {
                looks.withLock { looks in
                    looks += 1
                    return looks == 1 ? nil : SourceKeys(only: key)
                }
            }
            func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys { throw BackendError(.failed, "There is a key.") }
        }

        @Test func `a key that another process creates between two loads of the key source is used`() async throws {
            let source = LateSource()
            let key = source.key.identity
            let pins = SealingKeys.Pins(
                recorded: { (_) throws(BackendError) in key }, record: { (_, _) throws(BackendError) in },
                all: { () throws(BackendError) in [key] })
            let keys = SealingKeys(pins: pins, randomBytes: Runtime.live.randomBytes)
            #expect(try await keys.forSealing(from: source) { () throws(BackendError) in [] }.identity == key)
        }

        /// A key source without a key, until one is created.
        private final class EmptySource: KeySource {
            private let keys = Mutex<SourceKeys?>(nil)
            let timesAsked = Mutex(0)
            let (identifier, pin, protection) = ("empty source", "empty", ProtectionLevel.sealed)
            func load() async throws(BackendError) -> SourceKeys? { keys.withLock(\.self) }
            func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
                self.keys.withLock { standing in
                    standing = standing ?? keys
                    return standing ?? keys
                }
            }
        }

        @Test func `if sealed data exists, no first key is created, and once it is gone, concurrent first writers search for it only once`()
            async throws
        {
            let source = EmptySource()
            let pins = SealingKeys.Pins(
                recorded: { (_) throws(BackendError) in nil }, record: { (_, _) throws(BackendError) in },
                all: { () throws(BackendError) in [] })
            let keys = SealingKeys(pins: pins, randomBytes: Runtime.live.randomBytes)
            await #expect(throws: BackendError.self) {
                _ = try await keys.forSealing(from: source) { () throws(BackendError) in [[1, 2, 3]] }
            }
            let ids = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<500 {
                    group.addTask {
                        let key = try await keys.forSealing(from: source) { () throws(BackendError) in
                            source.timesAsked.withLock { $0 += 1 }
                            await Task.yield()
                            return []
                        }
                        return key.id
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            #expect(source.timesAsked.withLock(\.self) == 1)
        }

        @Test func `a call whose key file does not answer in time throws timedOut and changes nothing`() async throws {
            let stage = try Stage()
            try await stage.launch().set("v", for: list)
            let router = stage.launch {
                $0.deadlines.files = .milliseconds(1_500)
                $0.runtime.makeLane = { $0 == "key-file" ? TestLane(isHeld: true) as any Lane : DispatchLane(label: $0) }
            }
            await expectRefusal(StorageError.timedOut, of: "b") { _ = try await router.get(list) }
            await expectRefusal(StorageError.timedOut, of: "b") { try await router.set("w", for: list) }
            #expect(try await stage.launch().get(list) == "v")
        }

        @Test func `a key source without sealed data gets its first key, even if data of another source exists and the ledger is missing`()
            async throws
        {
            let stage = try Stage()
            func launch() -> StorageRouter { stage.launch { $0.databaseKeySources["other"] = .keyFile("other-key") } }
            let other = textKey("a", .encryptedSQLite(database: "other"))
            let otherList = textKey("a", .userDefaults(suite: "sealed"), .encrypted(.keyFile("other-key")))
            try await launch().set("v", for: other)
            try await launch().set("v", for: otherList)
            try FileManager.default.removeItem(atPath: stage.root.path + "/state")
            let router = launch()
            try await router.registerCatalog(TestCatalog(.key(other), .key(otherList)))
            try await router.set("w", for: textKey("a", .encryptedSQLite(database: "main")))
            try await router.set("w", for: textKey("b", .userDefaults(suite: "second"), .encrypted))
            #expect(try await launch().get(other) == "v")
            #expect(try await launch().get(otherList) == "v")
        }
    }
#endif
