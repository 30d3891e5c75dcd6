#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import LocalDataPostgreSQL
    import Sealing
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of recovery keys and of changed key sources, with databases on a server. The internal stores of the
    /// application are on the server too, and sealed with the key of the same source.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct ServerRecoveryTests {
        private let folder: TemporaryDirectory
        private let server: PostgreSQLServer
        private let database: PrivatePostgreSQL
        private let main = StorageDomain.postgreSQL(database: "main")
        private let other = StorageDomain.postgreSQL(database: "other")

        init() async throws {
            folder = try TemporaryDirectory()
            database = try await .shared()
            server = PostgreSQLServer(
                database.conninfo, schema: "recovery_\(UInt32.random(in: .min ... .max))", deadline: .seconds(300))
        }

        private func machine(_ name: String, key: String = "shared-key") -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: folder.file(name)), applicationID: "com.example.app")
            configuration.keySource = .keyFile(folder.file(key))
            configuration.runtime.isPatient = true
            configuration.deadlines.files = .seconds(120)
            configuration.usePostgreSQL(server)
            return StorageRouter(configuration: configuration)
        }

        private func key(_ name: String, _ domain: StorageDomain) -> StorageKey<String> { StorageKey(name: name, domain: domain) }

        private func hasKeyFile(_ name: String = "shared-key") -> Bool { FileManager.default.fileExists(atPath: folder.file(name)) }

        private func loseKey() throws { try FileManager.default.removeItem(atPath: folder.file("shared-key")) }

        private func code(_ work: () async throws -> Void) async -> StorageError.Code? {
            do {
                try await work()
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        @Test func `a recovery key opens a database on a server and the internal stores, after the key of the source was lost`()
            async throws
        {
            let before = machine("one")
            try await before.set("secret", for: key("token", main))
            let recovery = try await before.addRecoveryKey(to: main)
            try await before.shutdown()
            try loseKey()
            let storage = machine("one")
            #expect(await code { _ = try await storage.get(key("token", main)) } == .encryptionKeyMissing)
            try await storage.recover(main, with: recovery)
            #expect(try await storage.get(key("token", main)) == "secret")
            // Another machine has the new key. The ledger on the server opens there too.
            let two = machine("two")
            #expect(try await two.get(key("token", main)) == "secret")
            // The row is sealed again with the data key that the recovery has made.
            #expect(try await storage.rotateDataKey(of: main) == 1)
            try await two.set("changed", for: key("token", main))
            #expect(try await machine("three").get(key("token", main)) == "changed")
        }

        @Test func `two databases are recovered one after the other, each with its own recovery key`() async throws {
            let before = machine("one")
            try await before.set("first", for: key("token", main))
            try await before.set("second", for: key("token", other))
            let keys = [try await before.addRecoveryKey(to: main), try await before.addRecoveryKey(to: other)]
            try await before.shutdown()
            try loseKey()
            let storage = machine("one")
            try await storage.recover(main, with: keys[0])
            try await storage.recover(other, with: keys[1])
            #expect(try await storage.get(key("token", main)) == "first")
            #expect(try await storage.get(key("token", other)) == "second")
        }

        @Test func `a recovery key that does not open the database changes nothing and leaves no key behind`() async throws {
            let before = machine("one")
            try await before.set("first", for: key("token", main))
            try await before.set("second", for: key("token", other))
            let recovery = try await before.addRecoveryKey(to: other)
            let saved = try Data(contentsOf: URL(filePath: folder.file("shared-key")))
            try await before.shutdown()
            try loseKey()
            let storage = machine("one")
            // This key opens the internal stores and another database.
            #expect(await code { try await storage.recover(main, with: recovery) } == .encryptionKeyMismatch)
            #expect(!hasKeyFile())
            try await storage.shutdown()
            try saved.write(to: URL(filePath: folder.file("shared-key")))
            chmod(folder.file("shared-key"), 0o600)
            #expect(try await machine("two").get(key("token", main)) == "first")
        }

        @Test func `a recovery key that was added before the internal stores had one is refused, and leaves no key behind`() async throws {
            let before = machine("one")
            try await before.set("secret", for: key("token", main))
            try await before.shutdown()
            let source = KeyFileSource(path: folder.file("shared-key"), deadline: .seconds(60), runtime: .live)
            let store = PostgreSQLStore(
                conninfo: server.connection, schema: server.schema,
                context: StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "main"),
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes), source: source, connections: 2,
                deadline: .seconds(60), runtime: .live)
            let pair = RecoveryKeyPair(Runtime.live.randomBytes)
            try await store.change(.addingRecovery(pair))
            let recovery = try RecoveryKey(text: pair.text)
            let key = try Data(contentsOf: URL(filePath: folder.file("shared-key")))
            try loseKey()
            let storage = machine("one")
            #expect(await code { try await storage.recover(main, with: recovery) } == .encryptionKeyMismatch)
            #expect(!hasKeyFile())
            try await storage.shutdown()
            // With the key of the source, the recovery key is added again.
            try key.write(to: URL(filePath: folder.file("shared-key")))
            chmod(folder.file("shared-key"), 0o600)
            let again = machine("one")
            _ = try await again.addRecoveryKey(recovery, to: main)
            try await again.shutdown()
            try loseKey()
            let recovered = machine("one")
            try await recovered.recover(main, with: recovery)
            #expect(try await recovered.get(self.key("token", main)) == "secret")
        }

        @Test func `a recovery key that is removed from one of its databases still recovers the other one`() async throws {
            let before = machine("one")
            try await before.set("first", for: key("token", main))
            try await before.set("second", for: key("token", other))
            let recovery = try await before.addRecoveryKey(to: main)
            _ = try await before.addRecoveryKey(recovery, to: other)
            let recipient = try #require(try await before.keyRecipients(of: main).first { $0.isRecoveryKey })
            try await before.removeRecoveryKey(recipient, from: main)
            try await before.shutdown()
            try loseKey()
            let storage = machine("one")
            #expect(await code { try await storage.recover(main, with: recovery) } == .encryptionKeyMismatch)
            #expect(!hasKeyFile())
            try await storage.recover(other, with: recovery)
            #expect(try await storage.get(key("token", other)) == "second")
        }

        @Test func `a recovery key that is removed opens no internal store, and a rotation replaces their data keys`() async throws {
            let storage = machine("one")
            try await storage.set("first", for: key("token", main))
            _ = try await storage.addRecoveryKey(to: main)
            let recipients = "SELECT count(*) FROM \"\(server.schema)\".wraps WHERE source = 'recovery key'"
            #expect(try await database.sql(recipients) == ["5"])
            let recipient = try #require(try await storage.keyRecipients(of: main).first { $0.isRecoveryKey })
            try await storage.removeRecoveryKey(recipient, from: main)
            #expect(try await database.sql(recipients) == ["0"])
            let keys = "SELECT key FROM \"\(server.schema)\".keys ORDER BY key"
            let former = Set(try await database.sql(keys))
            try await storage.rotateDataKey(of: main)
            let present = Set(try await database.sql(keys))
            #expect(former.count == 5 && present.count == 5 && former.isDisjoint(with: present))
            #expect(try await machine("two").get(key("token", main)) == "first")
        }

        @Test func `the key source of a database on a server is changed together with that of the internal stores`() async throws {
            let before = machine("one")
            try await before.set("secret", for: key("token", main))
            let recovery = try await before.addRecoveryKey(to: main)
            try await before.shutdown()
            let storage = machine("one", key: "other-key")
            #expect(await code { _ = try await storage.get(key("token", main)) } != nil)
            // A wrong source changes nothing.
            #expect(await code { try await storage.changeKeySource(of: main, from: .keyFile(folder.file("no-key"))) } != nil)
            #expect(!hasKeyFile("other-key"))
            try await storage.changeKeySource(of: main, from: .keyFile(folder.file("shared-key")))
            #expect(try await storage.get(key("token", main)) == "secret")
            try FileManager.default.removeItem(atPath: folder.file("shared-key"))
            #expect(try await machine("two", key: "other-key").get(key("token", main)) == "secret")
            // The recovery key stays a recipient of all of them.
            try await storage.shutdown()
            try FileManager.default.removeItem(atPath: folder.file("other-key"))
            let recovered = machine("three", key: "third-key")
            try await recovered.recover(main, with: recovery)
            #expect(try await recovered.get(key("token", main)) == "secret")
        }

        @Test func `a database with a separate key source is moved to another source while the internal stores stay`() async throws {
            func machine(_ key: String) -> StorageRouter {
                var configuration = StorageConfiguration(root: URL(filePath: folder.file("one")), applicationID: "com.example.app")
                configuration.keySource = .keyFile(folder.file("shared-key"))
                configuration.databaseKeySources["main"] = .keyFile(folder.file(key))
                configuration.runtime.isPatient = true
                configuration.usePostgreSQL(server)
                return StorageRouter(configuration: configuration)
            }
            let before = machine("first-key")
            try await before.set("secret", for: key("token", main))
            try await before.shutdown()
            let storage = machine("second-key")
            try await storage.changeKeySource(of: main, from: .keyFile(folder.file("first-key")))
            #expect(try await storage.get(key("token", main)) == "secret")
        }
    }
#endif
