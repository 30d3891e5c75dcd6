#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of servers that refuse, stop, or are set up in another way. Each case has a typed error, and changes
    /// nothing.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct BadCasesTests {
        private let address = StorageAddress("token")

        private func failure(_ result: MutationResult) -> BackendError? {
            if case .failed(let error) = result { error } else { nil }
        }

        private func failure(_ probe: StorageProbe) -> BackendError? {
            if case .unavailable(let error) = probe { error } else { nil }
        }

        @Test func `a server that is not running is unavailable`() async throws {
            let place = try await TestDatabase()
            let store = place.store("host=/nonexistent dbname=postgres", deadline: .seconds(3))
            #expect(failure(try await store.read(address))?.code == .unavailable)
            #expect(failure(try await store.apply(.put(.bytes([1]), at: address)))?.code == .unavailable)
            #expect(try await place.store().read(address) == .absent)
        }

        @Test(arguments: [Int64.min, -1, 0, 1])
        func `a transaction without time left has a limit of one millisecond, because 0 is no limit`(milliseconds: Int64) {
            let settings = ServerTables.begin(milliseconds: milliseconds)[1]
            guard case .text("1ms") = settings.parameters.first else {
                Issue.record("\(settings.parameters)")
                return
            }
        }

        @Test func `an invalid connection string is not repeated in the error`() async throws {
            let store = try await TestDatabase().store("postgresql://user:hidden-password@host:99999x/db?nonsense=1")
            let error = try #require(failure(try await store.read(address)))
            #expect(error.code == .unsupported && !error.reason.contains("hidden"))
        }

        @Test func `a connection to another machine is encrypted and verified, whatever the connection string says`() async throws {
            let server = try await PrivatePostgreSQL(listens: true)
            let port = try #require(server.port)
            let place = try await TestDatabase(on: server)
            #expect(try await place.store("host=127.0.0.1 port=\(port) user=owner dbname=postgres").read(address) == .absent)
            // Linux connects to this machine, but the address is none of the loopback interface.
            let remote = place.store("host=0.0.0.0 port=\(port) user=owner dbname=postgres sslmode=disable")
            let error = try #require(failure(try await remote.read(address)))
            #expect(error.code == .untrusted && error.reason.contains("sslrootcert"), "\(error)")
        }

        @Test(
            arguments: [
                ("", true), ("/run/postgresql", true), ("@postgresql", true), ("localhost", true), ("127.0.0.1", true),
                ("127.255.1.2", true), ("::1", true), ("0:0:0:0:0:0:0:1", true), ("127.db.example.com", false), ("127.1", false),
                ("127.0.0.1.example.com", false),
                ("0127.0.0.1", false), ("128.0.0.1", false), ("LOCALHOST", false), ("localhost.", false), ("localhost.example.com", false),
                ("::2", false), ("fe80::1", false), ("::ffff:127.0.0.1", false), ("db", false),
            ])
        func `only sockets, loopback addresses and localhost need no encryption`(name: String, isLocal: Bool) {
            func host(_ name: String, _ address: String) -> ServerHost {
                ServerHost(name: name, address: address, port: "5432", isListed: !address.isEmpty, isVerified: false)
            }
            #expect(host(name, "").security == (isLocal ? [:] : ["sslmode": "verify-full"]))
            // The address leads to the host, whatever its name is.
            #expect(host(name, "192.0.2.1").security == ["sslmode": "verify-full"])
            #expect(host(name, "127.0.0.1").security.isEmpty)
        }

        @Test func `each host of a connection string is reached by its address, or by its name if the address is empty`() async throws {
            let server = try await PrivatePostgreSQL(listens: true)
            let port = try #require(server.port)
            let place = try await TestDatabase(on: server)
            let rest = "user=owner dbname=postgres sslmode=disable"
            for hosts in [
                "host=db.test,localhost hostaddr=127.0.0.1, port=1,\(port)", "host=localhost,db.test hostaddr=,127.0.0.1 port=1,\(port)",
                "host=db.test,\(server.folder) hostaddr=127.0.0.1, port=1,\(port)",
            ] {
                let store = place.store("\(hosts) \(rest)", deadline: .seconds(120))
                #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied, "\(hosts)")
                await store.close()
            }
            // The empty address leads to the name, which is no loopback address.
            let remote = place.store("host=localhost,0.0.0.0 hostaddr=127.0.0.1, port=1,\(port) \(rest)", deadline: .seconds(120))
            #expect(failure(try await remote.read(address))?.code == .untrusted)
        }

        @Test func `a role without rights is refused, and the error names the remedy`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            try await place.server.sql("CREATE ROLE stranger LOGIN")
            let store = place.store(place.server.conninfo(user: "stranger"))
            let error = try #require(failure(try await store.apply(.put(.bytes([1]), at: address))))
            #expect(error.code == .accessDenied && error.reason.contains("Docs/Formats.md"))
        }

        @Test func `a missing database and a missing role have different errors`() async throws {
            let place = try await TestDatabase()
            let missing = place.store(place.server.conninfo(user: "owner", database: "nowhere"))
            #expect(failure(try await missing.read(address))?.code == .unavailable)
            let nobody = place.store(place.server.conninfo(user: "nobody"))
            #expect(failure(try await nobody.read(address))?.code == .accessDenied)
        }

        @Test func `a wrong password is refused at once, and no error contains it`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            try await place.server.sql("CREATE ROLE secured LOGIN PASSWORD 'right'")
            try await place.server.addAccessRule("local all secured scram-sha-256")
            let conninfo = place.server.conninfo(user: "secured")
            for wrong in ["\(conninfo) password=wrong-password", conninfo] {
                let error = try #require(failure(try await place.store(wrong).read(address)))
                #expect(error.code == .accessDenied && !error.reason.contains("wrong-password"), "\(error)")
            }
        }

        @Test func `a server without free connections is unavailable within the deadline`() async throws {
            let server = try await PrivatePostgreSQL(["max_connections=4", "superuser_reserved_connections=3"])
            try await server.sql(
                "CREATE ROLE app LOGIN; CREATE SCHEMA tests; GRANT ALL ON SCHEMA tests TO app; GRANT CREATE ON DATABASE postgres TO app")
            let place = try await TestDatabase(on: server)
            let first = place.store(server.conninfo(user: "app"))
            #expect(try await first.read(address) == .absent)
            let second = place.store(server.conninfo(user: "app"), deadline: .seconds(6))
            let error = failure(try await second.read(address))
            #expect(error?.code == .unavailable && error?.reason.contains("max_connections") == true)
            await first.close()
        }

        @Test func `a standby answers nothing, and with several hosts the primary is used`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            let standby = try await PrivatePostgreSQL(standbyOf: place.server)
            let store = place.store(standby.conninfo, deadline: .seconds(6))
            for name in ["token", "other"] {
                let error = failure(try await store.read(StorageAddress(name)))
                #expect(error?.code == .unavailable && error?.reason.contains("standby") == true, "\(String(describing: error))")
            }
            #expect(failure(try await store.apply(.put(.bytes([2]), at: address)))?.code == .unavailable)
            let both = place.store("host=\(standby.folder),\(place.server.folder) user=owner dbname=postgres")
            #expect(try await both.apply(.put(.bytes([3]), at: address)).isApplied)
            #expect(try await both.read(StorageAddress("other")) == .absent)
        }

        @Test func `a host that accepts connections and never answers does not use up the time of the others`() async throws {
            let place = try await TestDatabase()
            #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            let silent = try SilentServer()
            let store = place.store("host=\(silent.folder),\(place.server.folder) user=owner dbname=postgres connect_timeout=3")
            #expect(try await store.read(address).record?.payload == .bytes([1]))
            let alone = place.store("host=\(silent.folder),\(silent.folder) user=owner dbname=postgres", deadline: .seconds(2))
            let error = await #expect(throws: BackendError.self) { try await alone.read(address) }
            #expect(error?.code == .timedOut)
        }

        @Test func `a primary that becomes read-only is unavailable`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            try await place.server.sql("ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()")
            let error = failure(try await place.store(deadline: .seconds(6)).read(StorageAddress("other")))
            #expect(error?.code == .unavailable, "\(String(describing: error))")
        }

        @Test func `a full disk of the server refuses a write and keeps the value`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            // The server reports 53100 as it does for a full disk. Proof/Searches/Server fills a real one.
            try await place.server.sql(
                """
                CREATE FUNCTION tests.full() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END$$;
                CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON tests.records EXECUTE FUNCTION tests.full()
                """)
            let error = failure(try await store.apply(.put(.bytes([2]), at: address)))
            #expect(error?.code == .noSpace && error?.outcome == .notApplied, "\(String(describing: error))")
            #expect(try await store.read(address).record?.payload == .bytes([1]))
            try await place.server.sql("DROP TRIGGER full_disk ON tests.records")
            #expect(try await store.apply(.put(.bytes([2]), at: address)).isApplied)
        }

        @Test func `a release with the earlier tables works while another one upgrades them`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store()
            let isOver = Shared(false)
            #expect(try await store.apply(.put(.bytes([0]), at: address)).isApplied)
            let writes = Task {
                var count = 0
                while !isOver.value.withLock(\.self) {
                    let result = try await store.apply(.put(.bytes([UInt8(truncatingIfNeeded: count)]), at: address))
                    #expect(result.isApplied, "\(result)")
                    count += 1
                }
                return count
            }
            try await place.server.sql(
                """
                BEGIN;
                SELECT * FROM tests.schema_version FOR UPDATE;
                ALTER TABLE tests.records ADD COLUMN later bigint NOT NULL DEFAULT 7;
                CREATE TABLE tests.later (context bytea PRIMARY KEY);
                UPDATE tests.schema_version SET version = 4;
                COMMIT;
                """)
            #expect(try await place.store().apply(.put(.bytes([9]), at: StorageAddress("afterwards"))).isApplied)
            isOver.value.withLock { $0 = true }
            let last = UInt8(truncatingIfNeeded: try await writes.value - 1)
            #expect(try await place.store().read(address).record?.payload == .bytes([last]))
        }

        @Test func `tables of another version are refused`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            try await place.server.sql("UPDATE tests.schema_version SET version = 9, compatible = 9")
            #expect(failure(try await place.store().read(address))?.code.name == "incompatibleSchema")
            try await place.server.sql("UPDATE tests.schema_version SET compatible = 1")
            #expect(try await place.store().read(address).record != nil)
        }

        @Test func `another cluster under the same name is an error that names both`() async throws {
            let (one, other) = (try await TestDatabase(on: PrivatePostgreSQL()), try await PrivatePostgreSQL())
            let link = one.folder.file("socket")
            _ = try await run("ln", ["-s", one.server.folder, link])
            let store = one.store("host=\(link) user=owner dbname=postgres")
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            _ = try await run("ln", ["-sfn", other.folder, link])
            await store.close()
            let error = failure(try await store.read(address))
            #expect(error?.reason.contains("timeline") == true, "\(String(describing: error))")
        }

        @Test func `a machine with another key is refused, and a plain database is not opened as a sealed one`() async throws {
            let place = try await TestDatabase()
            #expect(try await place.store().apply(.put(.bytes([1]), at: address)).isApplied)
            let other = place.store(key: "other key")
            #expect(failure(try await other.read(address))?.code == .encryptionKeyMismatch)
            let plain = place.store(isSealed: false)
            #expect(failure(try await plain.read(address))?.code.name == "incompatibleSchema")
        }
    }
#endif
