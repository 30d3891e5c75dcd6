#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import Sealing
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of tables that an earlier revision has made. `Tests/Fixtures/server` says what they contain.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct EarlierTablesTests {
        private let folder: TemporaryDirectory
        private let server: PrivatePostgreSQL
        private let fixtures: URL

        init() async throws {
            folder = try TemporaryDirectory()
            server = try await PrivatePostgreSQL()
            fixtures = (0..<2).reduce(URL(filePath: #filePath)) { path, _ in path.deletingLastPathComponent() }.appending(
                path: "Fixtures/server")
            try await server.sql(String(contentsOf: fixtures.appending(path: "version-2.sql"), encoding: .utf8))
            try Data(contentsOf: fixtures.appending(path: "version-2.key")).write(to: URL(filePath: folder.file("version-2.key")))
            chmod(folder.file("version-2.key"), 0o600)
        }

        private func store(key: String = "version-2.key") -> PostgreSQLStore {
            PostgreSQLStore(
                conninfo: server.conninfo, schema: "localdata",
                context: StoreContext(application: "com.example.app", kind: "postgreSQL", scope: "main"),
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
                source: KeyFileSource(path: folder.file(key), deadline: .seconds(60), runtime: .live), connections: 2,
                deadline: .seconds(60), runtime: .live)
        }

        private func text(_ probe: StorageProbe) -> String? {
            guard case .bytes(let bytes)? = probe.record?.payload else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }

        @Test func `the values of tables of version 2 are read and changed`() async throws {
            let store = store()
            let kept = try await store.read(StorageAddress("kept"))
            #expect(text(kept) == "first", "\(kept)")
            #expect(text(try await store.read(StorageAddress("changed"))) == "second")
            // The dump was restored in another cluster.
            guard case .unavailable = try await store.read(StorageAddress("removed")) else {
                Issue.record("a missing value of a restored dump counts as absent")
                return
            }
            try await PostgreSQLSchema.acceptFailover(
                conninfo: server.conninfo, schema: "localdata", deadline: .seconds(60), runtime: .live)
            #expect(try await store.read(StorageAddress("removed")) == .absent)
            #expect(try await store.apply(.put(.bytes(Array("third".utf8)), at: StorageAddress("changed"))).isApplied)
            // The first change of the header gives it a counter and a proof.
            let header = "SELECT counter, length(proof) FROM localdata.databases"
            #expect(try await server.sql(header) == ["0|"])
            let count = try await store.rotateDataKey(batch: 10) { _, _ in }
            #expect(count == 2)
            #expect(try await server.sql(header) == ["2|32"])
            #expect(text(try await self.store().read(StorageAddress("changed"))) == "third")
            #expect(try await server.sql("SELECT version, compatible FROM localdata.schema_version") == ["3|3"])
        }

        @Test func `a recovery key opens tables of version 2`() async throws {
            let typed = try String(contentsOf: fixtures.appending(path: "version-2.recovery"), encoding: .utf8)
            let store = store(key: "new key")
            let pair = try RecoveryKeyPair(text: typed.trimmingCharacters(in: .whitespacesAndNewlines))
            try await store.takeOver(from: .recovery(pair))
            let kept = try await store.read(StorageAddress("kept"))
            #expect(text(kept) == "first", "\(kept)")
        }
    }
#endif
