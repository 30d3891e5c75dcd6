#if PostgreSQL && os(Linux)
    import BackendContract
    package import BackendRuntime
    package import PostgreSQLBackend
    import Sealing

    /// A database of a test on a real server, and a key file.
    package struct TestDatabase: Sendable {
        package let server: PrivatePostgreSQL
        private let name = "test-\(UInt64.random(in: .min ... .max))"
        package let folder: TemporaryDirectory

        /// Creates a database on the server that all tests share, or on another one.
        package init(on server: PrivatePostgreSQL? = nil) async throws {
            self.server = if let server { server } else { try await .shared() }
            folder = try TemporaryDirectory()
        }

        /// Returns a new store, as another process would make it.
        package func store(
            _ conninfo: String? = nil, isSealed: Bool = true, key: String = "key", connections: Int = 4,
            deadline: Duration = .seconds(600), runtime: Runtime = .live, schema: String = "tests"
        ) -> PostgreSQLStore {
            let source = isSealed ? KeyFileSource(path: folder.file(key), deadline: .seconds(600), runtime: .live) : nil
            return PostgreSQLStore(
                conninfo: conninfo ?? server.conninfo, schema: schema,
                context: StoreContext(application: "test", kind: "postgreSQL", scope: name),
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes), source: source, connections: connections,
                deadline: deadline, runtime: runtime)
        }
    }
#endif
