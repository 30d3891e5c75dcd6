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

    /// Attacks by the administrator of the server, who puts older headers and key tables back.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct OlderHeaderTests {
        private let folder: TemporaryDirectory
        private let server: PostgreSQLServer
        private let database: PrivatePostgreSQL
        private let snapshots: KeyTableSnapshots
        private let main = StorageDomain.postgreSQL(database: "main")
        private let token = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))

        init() async throws {
            folder = try TemporaryDirectory()
            database = try await .shared()
            server = PostgreSQLServer(
                database.conninfo, schema: "older_\(UInt32.random(in: .min ... .max))", deadline: .seconds(300))
            snapshots = KeyTableSnapshots(database, schema: server.schema)
        }

        private func machine(_ name: String, key: String = "key 1") -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: folder.file(name)), applicationID: "com.example.app")
            configuration.keySource = .keyFile(folder.file(key))
            configuration.runtime.isPatient = true
            configuration.deadlines.files = .seconds(120)
            configuration.usePostgreSQL(server)
            return StorageRouter(configuration: configuration)
        }

        private func code(_ work: () async throws -> Void) async -> StorageError.Code? {
            do {
                try await work()
                return nil
            } catch { return (error as? StorageError)?.code }
        }

        @Test func `a running process refuses a header whose active key it has seen replaced`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let address = StorageAddress("token")
            let snapshots = KeyTableSnapshots(place.server, schema: "tests")
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            try await snapshots.take(0)
            _ = try await store.rotateDataKey(batch: 10) { _, _ in }
            #expect(try await store.read(address).record?.payload == .bytes([1]))
            try await snapshots.take(1)
            try await snapshots.putBack(0)
            guard case .unavailable(let error) = try await store.read(address) else {
                Issue.record("the older header was used")
                return
            }
            #expect(error.code == .rolledBack, "\(error)")
            guard case .failed(let refusal) = try await store.apply(.put(.bytes([2]), at: address)) else {
                Issue.record("a destroyed key sealed a value")
                return
            }
            #expect(refusal.code == .rolledBack && refusal.outcome == .notApplied, "\(refusal)")
            await #expect(throws: BackendError.self) { _ = try await store.rotateDataKey(batch: 10) { _, _ in } }
            try await snapshots.putBack(1)
            #expect(try await store.read(address).record?.payload == .bytes([1]))
        }

        @Test func `every older set of key tables is refused by a running and by a new process of a machine that saw the latest`()
            async throws
        {
            let storage = machine("one")
            try await storage.set("secret", for: token)
            var recovery: [RecoveryKey] = []
            func recipient(_ index: Int) async throws -> KeyRecipient {
                let keys = try await storage.keyRecipients(of: main).filter(\.isRecoveryKey)
                return try #require(keys.count > index ? keys[index] : nil)
            }
            // Each step is one change of keys.
            let steps: [(StorageRouter) async throws -> Void] = [
                { recovery.append(try await $0.addRecoveryKey(to: main)) },
                { try await $0.removeRecoveryKey(recipient(0), from: main) },
                { try await $0.rotateDataKey(of: main) },
                { recovery.append(try await $0.addRecoveryKey(to: main)) },
                { try await $0.rotateDataKey(of: main) },
            ]
            try await snapshots.take(0)
            var tried = 0
            for (number, step) in steps.enumerated() {
                try await step(storage)
                try await snapshots.take(number + 1)
                #expect(try await storage.get(token) == "secret")
                for older in 0...number {
                    try await snapshots.putBack(older)
                    let new = machine("one")
                    for process in [storage, new] {
                        #expect(await code { _ = try await process.set("changed", for: token) } == .rolledBack, "\(older) of \(number)")
                        #expect(await code { try await process.rotateDataKey(of: main) } == .rolledBack, "\(older) of \(number)")
                        #expect(await code { _ = try await process.addRecoveryKey(to: main) } == .rolledBack, "\(older) of \(number)")
                        tried += 1
                    }
                    try await new.shutdown()
                    try await snapshots.putBack(number + 1)
                    #expect(try await storage.get(token) == "secret")
                }
            }
            #expect(tried == 30)
            #expect(try await machine("two").get(token) == "secret")
        }

        private struct Catalog: StorageKeyCatalog {
            let token: StorageKey<String>
            var allKeys: [AnyStorageKey] { [.key(token)] }
        }

        @Test func `a machine without a note accepts an older header, and its status and audit say so`() async throws {
            let storage = machine("one")
            try await storage.set("secret", for: token)
            try await snapshots.take(0)
            _ = try await storage.addRecoveryKey(to: main)
            try await snapshots.putBack(0)
            let new = machine("two")
            #expect(try await new.get(token) == "secret")
            #expect(new.warning(about: main)?.contains("first") == true)
            _ = try await new.registerCatalog(Catalog(token: token))
            #expect(try await new.audit().warnings["\(main)"]?.contains("first") == true)
            try await new.shutdown()
            let again = machine("two")
            #expect(try await again.get(token) == "secret")
            #expect(again.warning(about: main) == nil)
        }
    }
#endif
