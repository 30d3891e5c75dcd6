#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of a dump that was restored into the schema of running programs.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct RestoredDumpTests {
        private let kept = StorageAddress("kept")
        private let missing = StorageAddress("missing")

        /// How the dump is restored.
        enum Form: CaseIterable {
            /// The tables are dropped and made again.
            case tables
            /// The rows are deleted and inserted again.
            case rows
        }

        private func error(_ probe: StorageProbe) -> BackendError? {
            if case .unavailable(let error) = probe { error } else { nil }
        }

        private func error(_ result: MutationResult) -> BackendError? {
            if case .failed(let error) = result { error } else { nil }
        }

        private func accept(_ conninfo: String) async throws {
            try await PostgreSQLSchema.acceptFailover(conninfo: conninfo, schema: "tests", deadline: .seconds(60), runtime: .live)
        }

        private func dump(_ form: Form, of server: PrivatePostgreSQL) async throws -> String {
            switch form {
            case .tables: return try await server.dump("tests", ["--clean"])
            case .rows:
                let tables = try await server.sql(
                    "SELECT string_agg('tests.' || tablename, ', ') FROM pg_tables WHERE schemaname = 'tests'")
                return "BEGIN;\nTRUNCATE \(tables.joined());\n\(try await server.dump("tests", ["--data-only"]))\nCOMMIT;"
            }
        }

        @Test(arguments: Form.allCases, [true, false])
        func `a dump that was restored into its schema is noticed by the open connections of the process that wrote later`(
            _ form: Form, _ isSealed: Bool
        ) async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            let store = place.store(isSealed: isSealed)
            #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            let dump = try await dump(form, of: server)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            #expect(try await store.read([kept, missing], .fresh)[0].record?.payload == .bytes([2]))
            try await server.sql(dump)
            // No connection was closed.
            #expect(error(try await store.apply(.put(.bytes([3]), at: missing)))?.code == .rolledBack)
            #expect(error(try await store.read(kept))?.code == .rolledBack)
            #expect(error(try await store.apply(.put(.bytes([3]), at: missing)))?.code == .rolledBack)
            await #expect(throws: BackendError.self) { try await store.addresses(in: .values) }
            // A process that has lost nothing learns that rows may be missing.
            let other = place.store(isSealed: isSealed)
            let probes = try await other.read([kept, missing], .fresh)
            #expect(probes[0].record?.payload == .bytes([1]))
            #expect(error(probes[1])?.code == .unavailable, "\(probes[1])")
            try await accept(server.conninfo)
            let found = try await store.read(kept)
            #expect(found.record?.payload == .bytes([1]), "\(found)")
            let result = try await store.apply(.put(.bytes([3]), at: missing))
            #expect(result.isApplied, "\(result)")
            #expect(try await other.read(missing).record?.payload == .bytes([3]))
        }

        @Test func `a process that only reads learns that a dump was restored, and so does a new one`() async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            #expect(try await place.store().apply(.put(.bytes([1]), at: kept)).isApplied)
            let dump = try await dump(.rows, of: server)
            let reader = place.store()
            #expect(try await reader.read(missing) == .absent)
            try await server.sql(dump)
            for store in [reader, place.store()] {
                #expect(error(try await store.read(missing))?.code == .unavailable)
                #expect(try await store.read(kept).record?.payload == .bytes([1]))
            }
        }

        @Test func `maintenance of the server does not look like a restore`() async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            let store = place.store()
            for form in [
                "VACUUM", "VACUUM FREEZE", "VACUUM FULL", "ANALYZE", "REINDEX SCHEMA tests;",
                "CLUSTER tests.databases USING databases_pkey",
            ] {
                #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
                try await server.sql(form)
                #expect(try await store.read([kept, missing], .fresh)[1] == .absent, "\(form)")
                #expect(try await place.store().read(missing) == .absent, "\(form)")
            }
        }
    }
#endif
