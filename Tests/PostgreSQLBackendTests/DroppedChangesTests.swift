#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Sealing
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of servers whose triggers, rules and policies drop changes or hide rows without an error.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct DroppedChangesTests {
        private let address = StorageAddress("token")

        /// Returns the code and the message of the error for a result that was not applied.
        private func refusal(_ result: MutationResult) -> BackendError? {
            if case .failed(let error) = result { error } else { nil }
        }

        private func expectDropped(_ error: BackendError?, table: String, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(
                error?.code.name == "incompatibleSchema" && error?.outcome == .notApplied,
                "\(String(describing: error))", sourceLocation: sourceLocation)
            let reason = error?.reason ?? ""
            #expect(reason.contains("table \(table)") && reason.contains("trigger"), "\(reason)", sourceLocation: sourceLocation)
        }

        /// Returns the SQL for a trigger with a body.
        private func trigger(_ event: String, on table: String, body: String) -> String {
            """
            CREATE FUNCTION tests.dropping() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN \(body) END$$;
            CREATE TRIGGER dropping \(event) ON tests.\(table) FOR EACH ROW EXECUTE FUNCTION tests.dropping();
            """
        }

        private let undone = "DROP TRIGGER IF EXISTS dropping ON tests.%; DROP FUNCTION tests.dropping()"

        @Test func `a change that a trigger or a rule of the server drops is not acknowledged`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let (store, other) = (place.store(), StorageAddress("other"))
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            let put = StorageMutation.put(.bytes([2]), at: address)
            let cases: [(String, String, StorageMutation)] = [
                (trigger("BEFORE INSERT", on: "records", body: "RETURN NULL;"), "records", .put(.bytes([2]), at: other)),
                (trigger("BEFORE UPDATE", on: "records", body: "RETURN NULL;"), "records", put),
                (trigger("BEFORE UPDATE", on: "records", body: "RETURN OLD;"), "records", put),
                (trigger("BEFORE DELETE", on: "records", body: "RETURN NULL;"), "records", .delete(address)),
                (
                    trigger("AFTER INSERT", on: "records", body: "DELETE FROM tests.records WHERE slot = NEW.slot; RETURN NULL;"),
                    "records",
                    .put(.bytes([2]), at: other)
                ),
                (trigger("BEFORE INSERT", on: "deletions", body: "RETURN NULL;"), "deletions", .delete(address)),
                (trigger("BEFORE INSERT", on: "commits", body: "RETURN NULL;"), "commits", put),
            ]
            for (sql, table, mutation) in cases {
                try await place.server.sql(sql)
                expectDropped(refusal(try await store.apply(mutation)), table: table)
                #expect(try await store.read(address).record?.payload == .bytes([1]), "\(sql)")
                #expect(try await store.read(other) == .absent, "\(sql)")
                try await place.server.sql(undone.replacing("%", with: table))
            }
            try await place.server.sql("CREATE RULE dropping AS ON INSERT TO tests.records DO INSTEAD NOTHING")
            expectDropped(refusal(try await store.apply(.put(.bytes([2]), at: other))), table: "records")
            try await place.server.sql("DROP RULE dropping ON tests.records")
            // The connections of the store can still be used.
            let batch: [StorageMutation] = [.put(.bytes([3]), at: other), .delete(address)]
            #expect(try await store.apply(batch).allSatisfy(\.isApplied))
            #expect(try await store.apply([.put(.bytes([4]), at: address), .put(.bytes([5]), at: other)]).allSatisfy(\.isApplied))
        }

        @Test func `of the changes that share a transaction, only the one that a trigger drops fails`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store(connections: 2)
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            try await place.server.sql(
                trigger("BEFORE INSERT", on: "records", body: "IF octet_length(NEW.record) > 50000 THEN RETURN NULL; END IF; RETURN NEW;"))
            let sizes = [1, 2, 3, 60_000, 5, 6, 7, 8]
            let results = try await withThrowingTaskGroup(of: (Int, MutationResult).self) { group in
                for size in sizes {
                    group.addTask {
                        let bytes = [UInt8](repeating: 0, count: size)
                        return (size, try await store.apply(.put(.bytes(bytes), at: StorageAddress("value\(size)"))))
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (size, result) in results {
                if size < 50_000 {
                    #expect(result.isApplied, "\(size): \(result)")
                } else {
                    expectDropped(refusal(result), table: "records")
                }
            }
        }

        @Test func `a change of keys that a trigger of the server drops is not acknowledged`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            func change(_ body: () async throws(BackendError) -> Void) async -> BackendError? {
                do throws(BackendError) { try await body() } catch { return error }
                return nil
            }
            let pair = RecoveryKeyPair(Runtime.live.randomBytes)
            try await place.server.sql(trigger("BEFORE INSERT", on: "wraps", body: "RETURN NULL;"))
            expectDropped(
                await change { () async throws(BackendError) in try await store.change(.addingRecovery(pair)) }, table: "wraps")
            try await place.server.sql(undone.replacing("%", with: "wraps"))
            for event in ["UPDATE", "DELETE"] {
                let table = event == "UPDATE" ? "records" : "keys"
                try await place.server.sql(trigger("BEFORE \(event)", on: table, body: "RETURN NULL;"))
                expectDropped(
                    await change { () async throws(BackendError) in _ = try await store.rotateDataKey(batch: 10) { _, _ in } }, table: table
                )
                try await place.server.sql(undone.replacing("%", with: table))
            }
            #expect(try await place.store().read(address).record?.payload == .bytes([1]))
            _ = try await store.rotateDataKey(batch: 10) { _, _ in }
            #expect(try await place.store().read(address).record?.payload == .bytes([1]))
        }

        @Test func `a database whose header or keys a trigger drops is not created`() async throws {
            let server = try await PrivatePostgreSQL()
            // The tables exist.
            #expect(try await TestDatabase(on: server).store().apply(.put(.bytes([1]), at: address)).isApplied)
            for table in ["databases", "wraps"] {
                let place = try await TestDatabase(on: server)
                try await server.sql(trigger("BEFORE INSERT", on: table, body: "RETURN NULL;"))
                expectDropped(refusal(try await place.store(deadline: .seconds(120)).apply(.put(.bytes([1]), at: address))), table: table)
                try await server.sql(undone.replacing("%", with: table))
                #expect(try await place.store().read(address) == .absent)
                #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            }
        }

        @Test func `an accepted failover and a deletion of damage that a trigger drops are not acknowledged`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            try await place.server.sql("UPDATE tests.records SET record = '\\x00'")
            let damaged = try #require(try await store.listing(in: address.namespace).damaged.first)
            try await place.server.sql(trigger("BEFORE DELETE", on: "records", body: "RETURN NULL;"))
            let kept = await #expect(throws: BackendError.self) { try await store.deleteDamage(at: damaged.handle) }
            expectDropped(kept, table: "records")
            try await place.server.sql(undone.replacing("%", with: "records"))
            #expect(try await store.deleteDamage(at: damaged.handle))
            try await place.server.sql(trigger("BEFORE INSERT", on: "history", body: "RETURN NULL;"))
            let refused = await #expect(throws: BackendError.self) {
                try await PostgreSQLSchema.acceptFailover(
                    conninfo: place.server.conninfo, schema: "tests", deadline: .seconds(120), runtime: .live)
            }
            expectDropped(refused, table: "history")
        }

        @Test func `a server that hides rows from the role by row-level security is refused`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            try await place.server.sql(
                """
                CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA tests TO app; GRANT ALL ON ALL TABLES IN SCHEMA tests TO app;
                ALTER TABLE tests.records ENABLE ROW LEVEL SECURITY
                """)
            let conninfo = place.server.conninfo(user: "app")
            guard case .unavailable(let error) = try await place.store(conninfo).read(address) else {
                Issue.record("the hidden row was reported as absent")
                return
            }
            #expect(error.code.name == "incompatibleSchema" && error.reason.contains("records") && error.reason.contains("BYPASSRLS"))
            #expect(try await place.store().read(address).record?.payload == .bytes([1]))
            // A connection that was open before.
            try await place.server.sql("ALTER ROLE app BYPASSRLS")
            let store = place.store(conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: address)).isApplied)
            try await place.server.sql("ALTER ROLE app NOBYPASSRLS")
            #expect(try await !store.apply(.put(.bytes([3]), at: address)).isApplied)
            #expect(try await place.store().read(address).record?.payload == .bytes([2]))
        }
    }
#endif
