#if SQLite && Keyring && os(Linux)
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import Sealing
    import TestSupport
    import Testing

    /// The desktop portal gives a sandboxed program a secret. A key source derives a key from this secret and the name
    /// of the source. Here, this key opens a database and encrypted (sealed) values. The tests restart the program and
    /// change the secret.
    ///
    /// The ledger records which key was used. The data key of a database encrypts its rows, and is itself encrypted
    /// (wrapped) with the key.
    @Suite(.inTurn, .serialized, .timeLimit(.minutes(5)), .tags(.keyring)) struct PortalKeyTests {
        private let stage: Stage
        private let portal: SmallSecretPortal
        private let row = textKey("a", .encryptedSQLite(database: "main"))
        private let sealed = textKey("b", .userDefaults(suite: "list"), .encrypted(.secretPortal()))
        private static let secret = String(repeating: "5ec2e7", count: 20)

        init() async throws {
            stage = try Stage(keyring: true)
            portal = try await SmallSecretPortal(on: .shared())
            try await portal.tell("secret \(Self.secret)")
        }

        private func launch(_ name: String = "default") -> StorageRouter {
            stage.launch { $0.databaseKeySources["main"] = .secretPortal(name) }
        }

        private func code(_ work: () async throws -> Void) async -> StorageError.Code? {
            do {
                try await work()
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        private func fill() async throws {
            let router = launch()
            try await router.set("row", for: row)
            try await router.set("sealed", for: sealed)
            #expect(try await router.keyRecipients(of: row.domain).map(\.source) == ["portal default"])
            try await router.shutdown()
        }

        @Test func `a database and sealed values open again with the secret of the portal, which is on no disk`() async throws {
            try await fill()
            await portal.kill()
            try await portal.start()
            try await portal.tell("secret \(Self.secret)")
            let router = launch()
            #expect(try await router.get(row) == "row")
            #expect(try await router.get(sealed) == "sealed")
            try await router.unlock(row.domain)
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data/sealing-key"))
            #expect(try await portal.tell("requests") == "2", "once for all values, and once to unlock")
        }

        @Test(arguments: ["forget", "app org.example.two"])
        func `a changed portal secret at the second start is a wrong key, and no new key is created`(change: String) async throws {
            try await fill()
            try await portal.tell(change)
            let router = launch()
            #expect(await code { _ = try await router.get(row) } == StorageError.encryptionKeyMismatch)
            #expect(await code { try await router.set("new", for: row) } == StorageError.encryptionKeyMismatch)
            #expect(await code { _ = try await router.get(sealed) } == StorageError.encryptionKeyMismatch)
            #expect(await code { try await router.set("new", for: sealed) } == StorageError.encryptionKeyMismatch)
            // An unused property list refuses the new secret, too, because the ledger records the key of the portal.
            let other = textKey("c", .userDefaults(suite: "other"), .encrypted(.secretPortal()))
            #expect(await code { try await router.set("new", for: other) } == StorageError.encryptionKeyMismatch)
            try await router.shutdown()
            try await portal.tell("app org.example.one")
            try await portal.tell("secret \(Self.secret)")
            let again = launch()
            #expect(try await again.get(row) == "row")
            #expect(try await again.get(sealed) == "sealed")
        }

        @Test func `without the list of keys, a changed secret is still recognized by the data that the first secret sealed`() async throws
        {
            try await fill()
            try await portal.tell("forget")
            try FileManager.default.removeItem(atPath: stage.root.path + "/state/pins.plist")
            let router = launch()
            #expect(await code { try await router.set("new", for: row) } == StorageError.encryptionKeyMismatch)
            #expect(await code { _ = try await router.get(row) } == StorageError.encryptionKeyMismatch)
        }

        @Test func `another name of the key source gives another key, and a database can be changed to that key`() async throws {
            try await fill()
            let router = launch("second")
            #expect(await code { _ = try await router.get(row) } == StorageError.encryptionKeyMismatch)
            try await router.changeKeySource(of: row.domain, from: .secretPortal())
            #expect(try await router.get(row) == "row")
            #expect(await code { _ = try await router.rotateKey(of: .secretPortal("second")) } == StorageError.unsupported)
        }

        @Test func `without the portal, values are unavailable, and nothing is created`() async throws {
            try await fill()
            await portal.kill()
            let router = launch()
            #expect(await code { _ = try await router.get(row) } == StorageError.unavailable)
            #expect(await code { try await router.set("new", for: row) } == StorageError.unavailable)
            try await portal.start()
            try await portal.tell("secret \(Self.secret)")
            #expect(try await router.get(row) == "row")
        }

        @Test func `a backup contains the key and is restored where the portal has another secret`() async throws {
            let first = launch()
            try await first.set("row", for: row)
            try await first.shutdown()
            let backup = URL(filePath: stage.directory.file("backup"))
            let key = BackupKey.passphrase("correct horse battery staple", PassphraseCost(logN: 1, blockSize: 1, parallelism: 1))
            let router = launch()
            _ = try await router.backup(to: backup, openedBy: [key])
            try await router.shutdown()
            try FileManager.default.removeItem(at: stage.root)
            try await portal.tell("forget")
            var configuration = stage.configuration
            configuration.databaseKeySources["main"] = .secretPortal()
            _ = try await StorageRouter.restore(from: backup, with: key, into: configuration)
            let again = launch()
            #expect(try await again.get(row) == "row")
        }
    }
#endif
