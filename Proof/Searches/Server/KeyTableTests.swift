#if PostgreSQL && os(Linux)
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import LocalDataPostgreSQL
    import TestSupport
    import Testing

    /// Puts every earlier set of key tables back, after every change of keys, and calls what would use them.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct KeyTableTests {
        private let folder: TemporaryDirectory
        private let server: PostgreSQLServer
        private let snapshots: KeyTableSnapshots
        private let main = StorageDomain.postgreSQL(database: "main")
        private let token = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))

        init() async throws {
            folder = try TemporaryDirectory()
            let database = try await PrivatePostgreSQL()
            server = PostgreSQLServer(database.conninfo, schema: "attacked", deadline: .seconds(300))
            snapshots = KeyTableSnapshots(database, schema: server.schema)
        }

        private func process(key: String) -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: folder.file("machine")), applicationID: "com.example.app")
            configuration.keySource = .keyFile(folder.file(key))
            configuration.runtime.isPatient = true
            configuration.deadlines.files = .seconds(120)
            configuration.usePostgreSQL(server)
            return StorageRouter(configuration: configuration)
        }

        /// The key source and the recovery keys after a change.
        private struct Present {
            var key = "key 1"
            var storage: StorageRouter
            var recovery: [RecoveryKey] = []
        }

        private func removeFirstRecoveryKey(_ present: Present) async throws {
            let recipient = try #require(try await present.storage.keyRecipients(of: main).first(where: \.isRecoveryKey))
            try await present.storage.removeRecoveryKey(recipient, from: main)
        }

        /// Makes one change of keys.
        private func change(_ number: Int, _ present: inout Present) async throws {
            switch number {
            case 0, 3: present.recovery.append(try await present.storage.addRecoveryKey(to: main))
            case 1: try await removeFirstRecoveryKey(present)
            case 2, 4: try await present.storage.rotateDataKey(of: main)
            case 5: _ = try await present.storage.rotateKey()
            case 6:
                present.key = "key 2"
                present.storage = process(key: present.key)
                try await present.storage.changeKeySource(of: main, from: .keyFile(folder.file("key 1")))
            case 7:
                try await present.storage.shutdown()
                try FileManager.default.removeItem(atPath: folder.file(present.key))
                present.storage = process(key: present.key)
                try await present.storage.recover(main, with: present.recovery[1])
            default: try await present.storage.rotateDataKey(of: main)
            }
        }

        /// Returns the error of a call that must not use the tables.
        private func code(_ work: () async throws -> Void) async -> StorageError.Code? {
            do {
                try await work()
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        @Test func `no earlier set of key tables is used after any change of keys`() async throws {
            var present = Present(storage: process(key: "key 1"))
            try await present.storage.set("secret", for: token)
            try await snapshots.take(0)
            var (sets, calls) = (0, 0)
            for number in 0..<9 {
                try await change(number, &present)
                try await snapshots.take(number + 1)
                #expect(try await present.storage.get(token) == "secret")
                for earlier in 0...number {
                    try await snapshots.putBack(earlier)
                    let new = process(key: present.key)
                    for storage in [present.storage, new] {
                        // A set from before a change of the source is not wrapped for the present key.
                        let refusals: [StorageError.Code?] = [.rolledBack, .encryptionKeyMismatch]
                        let answers = [
                            await code { try await storage.set("changed", for: token) },
                            await code { try await storage.rotateDataKey(of: main) },
                            await code { _ = try await storage.addRecoveryKey(to: main) },
                        ]
                        for answer in answers {
                            #expect(refusals.contains(answer), "set \(earlier) after change \(number): \(String(describing: answer))")
                            calls += 1
                        }
                    }
                    try await new.shutdown()
                    sets += 1
                    try await snapshots.putBack(number + 1)
                    #expect(try await present.storage.get(token) == "secret")
                }
            }
            print("tried: \(sets) earlier sets of key tables after 9 changes of keys, \(calls) calls, all refused")
        }
    }
#endif
