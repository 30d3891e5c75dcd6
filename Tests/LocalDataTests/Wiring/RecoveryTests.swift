#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import Glibc
    import LocalData
    import LocalDataBackup
    import LocalDataTesting
    import TestSupport
    import Testing

    /// Recovery keys, and changes of the key source of a database: which keys can open the database afterwards. These
    /// keys are its recipients.
    @Suite(.slow("goes through real files many times"), .inTurn) struct RecoveryTests {
        enum Place: CaseIterable, CustomTestStringConvertible {
            case database, vault
            var testDescription: String { "\(self)" }
            var domain: StorageDomain { self == .database ? .encryptedSQLite(database: "main") : .keychain }
        }

        private let stage: Stage
        private let secret = "correct-horse-battery-staple"
        private var keyFile: String { stage.root.path + "/data/sealing-key" }

        init() throws { stage = try Stage() }

        private func launch(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
            stage.launch {
                $0.keychain = .sealedVault(.configured)
                change(&$0)
            }
        }

        private func value(_ place: Place) -> StorageKey<String> { textKey("a", place.domain) }

        private func expect(
            _ code: StorageError.Code, _ router: StorageRouter, at location: SourceLocation = #_sourceLocation,
            _ body: (StorageRouter) async throws -> Void
        ) async {
            let error = await #expect(throws: StorageError.self, sourceLocation: location) { try await body(router) }
            #expect(error?.code == code, "\(String(describing: error))", sourceLocation: location)
            #expect(error?.outcome == .notApplied, sourceLocation: location)
        }

        /// Stores a value and returns a recovery key for its database.
        private func prepare(_ place: Place) async throws -> RecoveryKey {
            let router = launch()
            try await router.set(secret, for: value(place))
            let key = try await router.addRecoveryKey(to: place.domain)
            // A router that had the database open before the recovery key was added can still write.
            try await router.set(secret, for: value(place))
            try await router.shutdown()
            return key
        }

        @Test(arguments: Place.allCases) func `a recovery key opens a database whose key was lost, and the key source then has a new key`(
            _ place: Place
        ) async throws {
            let key = try await prepare(place)
            let lost = try Data(contentsOf: URL(fileURLWithPath: keyFile))
            try FileManager.default.removeItem(atPath: keyFile)
            await expect(StorageError.encryptionKeyMissing, launch()) { _ = try await $0.get(value(place)) }
            let written = key.text
            let router = launch()
            try await router.recover(place.domain, with: RecoveryKey(text: written.lowercased()))
            #expect(try await router.get(value(place)) == secret)
            try await router.set("\(secret) again", for: value(place))
            #expect(try await router.keyRecipients(of: place.domain).map(\.isRecoveryKey).sorted { !$0 && $1 } == [false, true])
            try await router.shutdown()
            #expect(try await launch().get(value(place)) == "\(secret) again")
            // The lost key file returns. Its key no longer opens the database.
            try lost.write(to: URL(fileURLWithPath: keyFile))
            await expect(StorageError.encryptionKeyMismatch, launch()) { _ = try await $0.get(value(place)) }
        }

        @Test(arguments: Place.allCases)
        func `a recovery key opens a copied file on another machine, but only in its sealing context`(
            _ place: Place
        ) async throws {
            let key = try await prepare(place)
            let other = try Stage()
            let folder = place == .database ? "databases" : "vaults"
            let file = try #require(
                try FileManager.default.subpathsOfDirectory(atPath: stage.root.path).first {
                    $0.hasSuffix(".sqlite") && $0.contains("data/")
                },
                "\(folder)")
            let target = other.root.path + "/" + file
            try FileManager.default.createDirectory(
                atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: stage.root.path + "/" + file, toPath: target)
            let foreign = other.launch {
                $0.keychain = .sealedVault(.configured)
                $0.applicationID = stage.service
                $0.sealingContext = "another tenant"
            }
            await expect(StorageError.wrongContext, foreign) { try await $0.recover(place.domain, with: key) }
            let router = other.launch {
                $0.keychain = .sealedVault(.configured)
                $0.applicationID = stage.service
            }
            try await router.recover(place.domain, with: key)
            #expect(try await router.get(value(place)) == secret)
        }

        @Test func `a recovery key of another database opens nothing, and every recovery key of a database opens it`() async throws {
            let key = try await prepare(.database)
            let router = launch()
            let second = try await router.addRecoveryKey(to: Place.database.domain)
            let other = try await router.addRecoveryKey(to: .encryptedSQLite(database: "other"))
            try await router.shutdown()
            try FileManager.default.removeItem(atPath: keyFile)
            let before = try await contents()
            await expect(StorageError.encryptionKeyMismatch, launch()) { try await $0.recover(Place.database.domain, with: other) }
            #expect(try await contents() == before)
            for key in [key, second] {
                let router = launch()
                try await router.recover(Place.database.domain, with: key)
                #expect(try await router.get(value(.database)) == secret)
                try await router.shutdown()
            }
        }

        @Test func `after its removal, a recovery key opens only copies of the database from before the removal`() async throws {
            let key = try await prepare(.database)
            let copy = try await snapshot()
            let router = launch()
            let recipient = try #require(try await router.keyRecipients(of: Place.database.domain).first { $0.isRecoveryKey })
            try await router.removeRecoveryKey(recipient, from: Place.database.domain)
            #expect(try await router.keyRecipients(of: Place.database.domain).count == 1)
            let source = try #require(try await router.keyRecipients(of: Place.database.domain).first)
            await expect(StorageError.unsupported, router) { try await $0.removeRecoveryKey(source, from: Place.database.domain) }
            await expect(StorageError.encryptionKeyMismatch, router) { try await $0.recover(Place.database.domain, with: key) }
            #expect(try await router.get(value(.database)) == secret)
            try await router.shutdown()
            try await restore(copy)
            try FileManager.default.removeItem(atPath: keyFile)
            let older = launch()
            try await older.recover(Place.database.domain, with: key)
            #expect(try await older.get(value(.database)) == secret)
        }

        @Test func `after a change of the key source, the key of the first source no longer opens the database`() async throws {
            let key = try await prepare(.database)
            let folder = try stage.directory.folder("keys")
            let other = KeySourceReference.keyFile(folder + "/other")
            func moved() -> StorageRouter { launch { $0.databaseKeySources["main"] = other } }
            let open = launch()
            #expect(try await open.get(value(.database)) == secret)
            await expect(StorageError.encryptionKeyMismatch, moved()) { _ = try await $0.get(value(.database)) }
            let router = moved()
            try await router.changeKeySource(of: Place.database.domain, from: .configured)
            #expect(try await router.get(value(.database)) == secret)
            #expect(try await router.keyRecipients(of: Place.database.domain).map(\.source).sorted() == ["key file other", "recovery key"])
            // A program that uses the first source has the database open. Its next change is refused, and nothing is
            // lost.
            await expect(StorageError.encryptionKeyMismatch, open) { try await $0.set("lost", for: value(.database)) }
            #expect(try await moved().get(value(.database)) == secret)
            await expect(StorageError.encryptionKeyMismatch, launch()) { _ = try await $0.get(value(.database)) }
            try await moved().recover(Place.database.domain, with: key)
            #expect(try await moved().get(value(.database)) == secret)
        }

        @Test func `a recovery that stops after it has created the new key continues with that key`() async throws {
            let key = try await prepare(.database)
            try FileManager.default.removeItem(atPath: keyFile)
            // Another process holds the lock of the database.
            let lock = try #require(
                try FileManager.default.subpathsOfDirectory(atPath: stage.root.path).first {
                    $0.hasSuffix(".lock") && $0.contains("sqlite")
                })
            let descriptor = Glibc.open(stage.root.path + "/" + lock, O_RDWR)
            #expect(flock(descriptor, LOCK_EX) == 0)
            // The clock passes the deadline once the recovery waits for that lock.
            let (clock, waits, keyFile) = (ManualClock(), Gate(isOpen: true), keyFile)
            let files = HookedFiles { operation, path in
                if operation == "lock", path.hasSuffix(lock), FileManager.default.fileExists(atPath: keyFile) { waits.block() }
            }
            let router = launch {
                $0.runtime.clock = clock
                $0.runtime.files = files
            }
            let recovering = Task { try await router.recover(Place.database.domain, with: key) }
            await waits.arrived()
            let error = await #expect(throws: StorageError.self) { try await clock.passing { try await recovering.value } }
            #expect(error?.code == StorageError.timedOut)
            let made = try Data(contentsOf: URL(fileURLWithPath: keyFile))
            close(descriptor)
            await expect(StorageError.encryptionKeyMismatch, launch()) { _ = try await $0.get(value(.database)) }
            let next = launch()
            try await next.recover(Place.database.domain, with: key)
            #expect(try await next.get(value(.database)) == secret)
            #expect(try Data(contentsOf: URL(fileURLWithPath: keyFile)) == made)
        }

        @Test func `programs that have a database open continue when its recipients change`() async throws {
            _ = try await prepare(.database)
            let (first, second) = (launch(), launch())
            #expect(try await second.get(value(.database)) == secret)
            for round in 0..<5 {
                _ = try await first.addRecoveryKey(to: Place.database.domain)
                try await second.set("round \(round)", for: value(.database))
                #expect(try await first.get(value(.database)) == "round \(round)")
            }
            #expect(try await second.keyRecipients(of: Place.database.domain).count == 7)
        }

        @Test func `domains without data keys refuse recovery, and an invalid recovery key text is refused`() async throws {
            let key = try await prepare(.database)
            await expect(StorageError.unsupported, launch()) { _ = try await $0.addRecoveryKey(to: .userDefaults) }
            await expect(StorageError.unsupported, launch()) { try await $0.recover(.userDefaults, with: key) }
            await expect(StorageError.unavailable, launch()) { try await $0.recover(.encryptedSQLite(database: "none"), with: key) }
            #expect(try await launch().keyRecipients(of: .encryptedSQLite(database: "none")).isEmpty)
            let error = #expect(throws: StorageError.self) { try RecoveryKey(text: String(key.text.dropLast()) + "?") }
            #expect(error?.code == StorageError.invalidRecoveryKey)
        }

        @Test func `no file and no printed form contains a recovery key`() async throws {
            let key = try await prepare(.database)
            for text in [key.text, key.text.replacing("-", with: "")] { #expect(try stage.traces(of: text).isEmpty) }
            var dumped = ""
            dump(key, to: &dumped)
            #expect(!dumped.contains(key.text.prefix(9)) && !"\(key)".contains(key.text.prefix(9)))
        }

        // MARK: Files

        private var databases: [String] {
            get throws {
                try FileManager.default.subpathsOfDirectory(atPath: stage.root.path).filter {
                    $0.contains(".sqlite") && !$0.hasSuffix("-shm")
                }
                .sorted()
            }
        }

        private func contents() async throws -> [String: Data] {
            Dictionary(uniqueKeysWithValues: try databases.map { ($0, try Data(contentsOf: stage.root.appendingPathComponent($0))) })
        }

        private func snapshot() async throws -> [String: Data] { try await contents() }

        private func restore(_ files: [String: Data]) async throws {
            for name in try databases { try FileManager.default.removeItem(atPath: stage.root.path + "/" + name) }
            for (name, data) in files { try data.write(to: stage.root.appendingPathComponent(name)) }
        }
    }
#endif
