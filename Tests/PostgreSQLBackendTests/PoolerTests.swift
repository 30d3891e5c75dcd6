#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests behind PgBouncer in transaction mode, which gives each transaction another connection.
    @Suite(.slow("starts servers")) struct PoolerTests {
        @Test func `a store works behind a pooler that gives each transaction another connection`() async throws {
            let server = try await PrivatePostgreSQL(listens: true)
            let pooler = try await PrivatePgBouncer(server)
            let place = try await TestDatabase(on: server)
            let store = place.store(pooler.conninfo)
            let addresses = (0..<40).map { StorageAddress("\($0)") }
            try await withThrowingTaskGroup { group in
                for address in addresses {
                    group.addTask {
                        let isApplied = try await store.apply(.put(.bytes(Array(address.name.utf8)), at: address, if: .absent)).isApplied
                        #expect(isApplied)
                    }
                }
                try await group.waitForAll()
            }
            let probes = try await place.store().read(addresses, .fresh)
            for (address, probe) in zip(addresses, probes) { #expect(probe.record?.payload == .bytes(Array(address.name.utf8))) }
            #expect(try await store.addresses(in: .values).count == 40)
            // The pooler swallows notices, so the server is asked for new stamps.
            var changes = store.foreignChanges().makeAsyncIterator()
            for _ in 0..<2 { _ = await changes.next() }
            #expect(try await place.store().apply(.delete(addresses[0])).isApplied)
            _ = await changes.next()
        }
    }

    /// Tests of a pooler that leads to a promoted standby while the connections of the clients stay open.
    @Suite(.slow("starts servers")) struct PoolerFailoverTests {
        @Test func `a pooler that leads to a promoted standby, and back to the earlier primary, is noticed`() async throws {
            let primary = try await PrivatePostgreSQL(listens: true)
            let pooler = try await PrivatePgBouncer(primary)
            let place = try await TestDatabase(on: primary)
            let store = place.store(pooler.conninfo, deadline: .seconds(30))
            let (kept, missing) = (StorageAddress("kept"), StorageAddress("missing"))
            #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            #expect(try await store.read(missing) == .absent)
            let standby = try await PrivatePostgreSQL(listens: true, standbyOf: primary)
            try await standby.catchUp(with: primary)
            try await standby.promote()
            try await pooler.lead(to: standby)
            #expect(try await store.read(kept).record?.payload == .bytes([1]))
            guard case .unavailable(let error) = try await store.read(missing) else {
                Issue.record("absence is proven")
                return
            }
            #expect(error.code == .unavailable && error.reason.contains("acceptFailover"), "\(error)")
            try await pooler.lead(to: primary)
            guard case .unavailable(let back) = try await store.read(kept) else {
                Issue.record("the earlier primary has answered")
                return
            }
            #expect(back.code.name == "incompatibleSchema" && back.reason.contains("timeline 1, instead of"), "\(back)")
        }
    }

    extension PoolerFailoverTests {
        @Test func `observers behind a pooler receive a change whose number a lost transaction had`() async throws {
            let primary = try await PrivatePostgreSQL(listens: true)
            let pooler = try await PrivatePgBouncer(primary)
            let place = try await TestDatabase(on: primary)
            let (address, direct) = (StorageAddress("token"), place.store())
            #expect(try await direct.apply(.put(.bytes([1]), at: address)).isApplied)
            let standby = try await PrivatePostgreSQL(listens: true, standbyOf: primary)
            try await standby.catchUp(with: primary)
            try await standby.leavePrimary()
            var changes = place.store(pooler.conninfo).foreignChanges().makeAsyncIterator()
            for _ in 0..<2 { _ = await changes.next() }
            // The primary uses many numbers, and the promoted standby begins before them.
            try await primary.sql([String](repeating: "SELECT pg_current_xact_id();", count: 1_000).joined(separator: "\n"))
            #expect(try await direct.apply(.put(.bytes([2]), at: address)).isApplied)
            _ = await changes.next()
            try await standby.promote()
            let successor = place.store(standby.conninfo)
            #expect(try await successor.apply(.put(.bytes([3]), at: address)).isApplied)
            try await pooler.lead(to: standby)
            _ = await changes.next()
            #expect(try await successor.read(address).record?.payload == .bytes([3]))
        }
    }

    /// PgBouncer in transaction mode, with two connections to a server.
    private final class PrivatePgBouncer: Sendable {
        private let home: TemporaryDirectory
        private let program: RunningProgram
        private let port: Int
        let conninfo: String

        init(_ server: PrivatePostgreSQL) async throws {
            home = try TemporaryDirectory()
            if geteuid() == 0 { chown(home.path, 65_534, 65_534) }
            let port = Int.random(in: 30_000..<40_000)
            self.port = port
            try Self.settings(port, server).write(toFile: home.file("pgbouncer.ini"), atomically: false, encoding: .utf8)
            let words = try Program.asNobody(Program.path("pgbouncer")) + [home.file("pgbouncer.ini")]
            program = try RunningProgram(words[0], Array(words.dropFirst()))
            conninfo = "host=127.0.0.1 port=\(port) user=owner dbname=postgres"
        }

        /// Leads all clients to another server, without closing their connections.
        func lead(to server: PrivatePostgreSQL) async throws {
            try Self.settings(port, server).write(toFile: home.file("pgbouncer.ini"), atomically: false, encoding: .utf8)
            program.signal(SIGHUP)
            let number = "SELECT setting FROM pg_settings WHERE name = 'port'"
            while try await Self.sql(number, conninfo) != ["\(server.port ?? 0)"] { await Task.yield() }
        }

        private static func sql(_ text: String, _ conninfo: String) async throws -> [String] {
            try await run("psql", ["-X", "-q", "-A", "-t", conninfo], input: text).lines
        }

        private static func settings(_ port: Int, _ server: PrivatePostgreSQL) -> String {
            """
            [databases]
            postgres = host=127.0.0.1 port=\(server.port ?? 0) user=owner
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = 2
            """
        }
    }
#endif
