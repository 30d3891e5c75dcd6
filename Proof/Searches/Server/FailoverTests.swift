#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataPostgreSQL
    import Synchronization
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of a standby that is promoted by `pg_ctl promote`, with and without a loss, and of copies of a database.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct FailoverTests {
        private let kept = StorageAddress("kept")
        private let missing = StorageAddress("missing")
        private let other = StorageAddress("other")

        /// A primary with a value, and its standby, which has the value too.
        private struct Pair {
            let primary: PrivatePostgreSQL
            let standby: PrivatePostgreSQL
            let place: TestDatabase

            init(_ settings: [String] = []) async throws {
                primary = try await PrivatePostgreSQL(settings)
                place = try await TestDatabase(on: primary)
                #expect(try await place.store().apply(.put(.bytes([1]), at: StorageAddress("kept"))).isApplied)
                standby = try await PrivatePostgreSQL(standbyOf: primary)
                // A standby knows the age of its rows after it has repeated a transaction.
                #expect(try await place.store().apply(.put(.bytes([1]), at: StorageAddress("kept"))).isApplied)
                try await standby.catchUp(with: primary)
            }

            /// The connection string with the standby first, as an application names all servers of a cluster.
            var conninfo: String { "host=\(standby.folder),\(primary.folder) user=owner dbname=postgres" }

            func accept() async throws {
                try await PostgreSQLSchema.acceptFailover(conninfo: conninfo, schema: "tests", deadline: .seconds(60), runtime: .live)
            }
        }

        private func error(_ probe: StorageProbe) -> BackendError? {
            if case .unavailable(let error) = probe { error } else { nil }
        }

        private func error(_ result: MutationResult) -> BackendError? {
            if case .failed(let error) = result { error } else { nil }
        }

        // MARK: Absence

        @Test func `after a promotion, values are read, and absence is unknown until the program accepts it`() async throws {
            let pair = try await Pair()
            let store = pair.place.store(pair.conninfo)
            #expect(try await store.read(missing) == .absent)
            try await pair.primary.kill()
            try await pair.standby.promote()
            for store in [store, pair.place.store(pair.conninfo)] {
                let probes = try await store.read([kept, missing], .fresh)
                #expect(probes[0].record?.payload == .bytes([1]))
                let reason = try #require(error(probes[1]))
                #expect(reason.code == .unavailable && reason.reason.contains("timeline 2"), "\(reason)")
            }
            try await pair.accept()
            for store in [store, pair.place.store(pair.conninfo)] { #expect(try await store.read(missing) == .absent) }
        }

        @Test func `after a promotion, a change that needs a proof of absence fails, and other changes are made`() async throws {
            let pair = try await Pair()
            try await pair.primary.kill()
            try await pair.standby.promote()
            let store = pair.place.store(pair.conninfo)
            let revision = try #require(try await store.read(kept).revision)
            let first = try await store.apply(.put(.bytes([2]), at: missing, if: .absent))
            #expect(error(first)?.code == .unavailable && error(first)?.outcome == .notApplied, "\(first)")
            #expect(error(try await store.apply(.put(.bytes([2]), at: missing, if: .revision(revision))))?.code == .unavailable)
            let batch = try await store.apply([.put(.bytes([2]), at: kept), .check(missing, if: .absent)])
            #expect(batch.allSatisfy { !$0.isApplied })
            #expect(try await store.read(kept).revision == revision)
            #expect(try await store.apply(.put(.bytes([2]), at: kept, if: .revision(revision))).isApplied)
            #expect(try await store.apply(.put(.bytes([2]), at: missing)).isApplied)
            #expect(try await store.apply(.put(.bytes([2]), at: other, if: .replaceable(version: nil))).isApplied)
            #expect(try await store.read([missing, other], .fresh).allSatisfy { $0.record?.payload == .bytes([2]) })
        }

        @Test func `after a promotion, a list has every value and ends with an error`() async throws {
            let pair = try await Pair()
            try await pair.primary.kill()
            try await pair.standby.promote()
            let store = pair.place.store(pair.conninfo)
            let page = try await store.page(StorageQuery(.values), after: nil, limit: 10)
            #expect(page.entries.map(\.address) == [kept] && !page.isComplete)
            let end = try #require(page.next)
            await #expect(throws: BackendError.self) { try await store.page(StorageQuery(.values), after: end, limit: 10) }
            await #expect(throws: BackendError.self) { try await store.addresses(in: .values) }
            await #expect(throws: BackendError.self) { try await store.count(StorageQuery(.values)) }
            try await pair.accept()
            #expect(try await store.addresses(in: .values) == [kept])
        }

        @Test func `after a promotion, a database that is missing is not created`() async throws {
            let pair = try await Pair()
            try await pair.primary.kill()
            try await pair.standby.promote()
            let another = try await TestDatabase(on: pair.primary)
            #expect(error(try await another.store(pair.conninfo).read(missing))?.code == .unavailable)
            #expect(error(try await another.store(pair.conninfo).apply(.put(.bytes([1]), at: missing)))?.code == .unavailable)
            try await pair.accept()
            #expect(try await another.store(pair.conninfo).read(missing) == .absent)
        }

        @Test func `a migration does not take a value that may be lost for absent`() async throws {
            let pair = try await Pair()
            let folder = try TemporaryDirectory()
            var configuration = StorageConfiguration(root: URL(filePath: folder.path), applicationID: "com.example.app")
            configuration.usePostgreSQL(PostgreSQLServer(pair.conninfo, schema: "tests", deadline: .seconds(60)))
            let before = StorageRouter(configuration: configuration)
            let older = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))
            let key = StorageKey<String>(name: "token", domain: .encryptedSQLite(database: "local")).moved(from: older)
            try await before.set("other", for: StorageKey<String>(name: "other", domain: .postgreSQL(database: "main")))
            try await before.shutdown()
            try await pair.standby.catchUp(with: pair.primary)
            try await pair.standby.leavePrimary()
            let writer = StorageRouter(configuration: configuration)
            try await writer.set("secret", for: older)
            try await writer.shutdown()
            try await pair.primary.kill()
            try await pair.standby.promote()
            let storage = StorageRouter(configuration: configuration)
            await #expect(throws: StorageError.self) { try await storage.value(for: key) }
            try await storage.acceptFailover()
            #expect(try await storage.value(for: key) == nil)
        }

        // MARK: Lost changes

        @Test func `a process notices that a promoted standby lacks its acknowledged change`() async throws {
            let pair = try await Pair()
            let store = pair.place.store(pair.conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await pair.standby.catchUp(with: pair.primary)
            try await pair.standby.leavePrimary()
            #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied)
            try await pair.primary.kill()
            try await pair.standby.promote()
            // The server has an older value.
            let reason = try #require(error(try await store.read(kept)))
            #expect(reason.code == .rolledBack && reason.reason.contains("acceptFailover"), "\(reason)")
            #expect(error(try await store.apply(.put(.bytes([4]), at: other)))?.code == .rolledBack)
            // Another process has lost nothing.
            #expect(try await pair.place.store(pair.conninfo).read(kept).record?.payload == .bytes([2]))
            try await pair.accept()
            #expect(try await store.read(kept).record?.payload == .bytes([2]))
            #expect(try await store.apply(.put(.bytes([4]), at: other)).isApplied)
        }

        @Test func `a process whose changes the promoted standby has goes on`() async throws {
            let pair = try await Pair()
            let store = pair.place.store(pair.conninfo)
            for number in UInt8(2)..<12 { #expect(try await store.apply(.put(.bytes([number]), at: kept)).isApplied) }
            try await pair.standby.catchUp(with: pair.primary)
            try await pair.primary.kill()
            try await pair.standby.promote()
            #expect(try await store.read(kept).record?.payload == .bytes([11]))
            #expect(try await store.apply(.put(.bytes([12]), at: kept)).isApplied)
        }

        @Test func `an earlier primary acknowledges nothing to a process that has found its successor`() async throws {
            let pair = try await Pair()
            let store = pair.place.store(pair.conninfo)
            // The connection for changes leads to the earlier primary, which stays up.
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await pair.standby.catchUp(with: pair.primary)
            try await pair.standby.leavePrimary()
            try await pair.standby.promote()
            // The first read makes a connection, to the successor.
            #expect(try await store.read(kept).record?.payload == .bytes([2]))
            #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied)
            #expect(try await pair.place.store(pair.standby.conninfo).read(kept).record?.payload == .bytes([3]))
            #expect(try await pair.place.store(pair.primary.conninfo).read(kept).record?.payload == .bytes([2]))
        }

        @Test func `a copy that was restored on the same timeline is noticed by the process that wrote later`() async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            // The rows and the keys of transactions are those of an earlier time.
            try await server.sql("CREATE TABLE earlier AS SELECT * FROM tests.commits")
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await server.sql("DELETE FROM tests.commits; INSERT INTO tests.commits SELECT * FROM earlier")
            await store.close()
            #expect(error(try await store.read(kept))?.code == .rolledBack)
        }

        @Test func `the tables that were restored in another cluster prove no absence until the program accepts them`() async throws {
            let (one, two) = (try await PrivatePostgreSQL(), try await PrivatePostgreSQL())
            let place = try await TestDatabase(on: one)
            #expect(try await place.store().apply(.put(.bytes([1]), at: kept)).isApplied)
            let dump = try await run("pg_dump", ["-h", one.folder, "-U", "owner", "-n", "tests", "postgres"])
            _ = try await two.sql(dump.stdout)
            let store = place.store(two.conninfo)
            let probes = try await store.read([kept, missing], .fresh)
            #expect(probes[0].record?.payload == .bytes([1]))
            #expect(error(probes[1])?.reason.contains("its rows were not accepted") == true, "\(probes[1])")
            try await PostgreSQLSchema.acceptFailover(conninfo: two.conninfo, schema: "tests", deadline: .seconds(60), runtime: .live)
            #expect(try await store.read(missing) == .absent)
        }

        @Test(arguments: ["pg_terminate_backend", "pg_cancel_backend"])
        func `a commit that was ended while it waited for a standby is acknowledged when the standby has it`(_ ends: String) async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            try await server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()")
            let isOver = Shared(false)
            async let result = store.apply(.put(.bytes([2]), at: kept))
            let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'localdata'"
            var waiters: [String] = []
            while waiters.isEmpty { waiters = try await server.sql("SELECT pid \(waiting)") }
            let first = waiters.joined()
            try await server.sql("SELECT \(ends)(\(first))")
            // The client asks on another connection, whose commit waits too.
            let release = Task {
                var hasWaited = false
                while !hasWaited, !isOver.value.withLock(\.self) {
                    hasWaited = try await !server.sql("SELECT pid \(waiting) AND pid <> \(first)").isEmpty
                }
                try await server.sql("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()")
                return hasWaited
            }
            let isApplied = try await result.isApplied
            isOver.value.withLock { $0 = true }
            let hasWaited = try await release.value
            #expect(isApplied && hasWaited)
            #expect(try await store.read(kept).record?.payload == .bytes([2]))
        }

        @Test func `a change that finds nothing to change waits for a standby too`() async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            #expect(try await place.store().apply(.put(.bytes([1]), at: kept)).isApplied)
            try await server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()")
            let store = place.store(deadline: .seconds(60))
            let isOver = Shared(false)
            async let result = store.apply(.delete(missing))
            let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'localdata'"
            let release = Task {
                var hasWaited = false
                while !hasWaited, !isOver.value.withLock(\.self) { hasWaited = try await !server.sql(waiting).isEmpty }
                try await server.sql("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()")
                return hasWaited
            }
            let isApplied = try await result.isApplied
            isOver.value.withLock { $0 = true }
            let hasWaited = try await release.value
            #expect(isApplied && hasWaited)
        }

        // MARK: Stale reads

        @Test func `a standby answers a read that allows a stale result, and no other`() async throws {
            let pair = try await Pair()
            let impatient = pair.place.store(pair.standby.conninfo, deadline: .seconds(8))
            for freshness in [ReadFreshness.validated, .fresh] {
                #expect(error(try await impatient.read([kept], freshness)[0])?.reason.contains("standby") == true)
            }
            let store = pair.place.store(pair.standby.conninfo)
            let probes = try await store.read([kept, missing], .stale(upTo: .seconds(86_400)))
            #expect(probes[0].record?.payload == .bytes([1]) && probes[1] == .absent)
            let tooOld = try #require(error(try await impatient.read([kept], .stale(upTo: .zero))[0]))
            #expect(tooOld.code == .unavailable && tooOld.reason.contains("seconds old"), "\(tooOld)")
        }

        @Test func `a stale read is answered while there is no primary, and by the primary if there is no standby`() async throws {
            let pair = try await Pair()
            #expect(try await pair.place.store().read([kept], .stale(upTo: .zero))[0].record?.payload == .bytes([1]))
            let folder = try TemporaryDirectory()
            var configuration = StorageConfiguration(root: URL(filePath: folder.path), applicationID: "com.example.app")
            configuration.usePostgreSQL(PostgreSQLServer(pair.conninfo, schema: "tests", deadline: .seconds(60)))
            let storage = StorageRouter(configuration: configuration)
            let token = StorageKey<String>(name: "token", domain: .postgreSQL(database: "main"))
            try await storage.set("secret", for: token)
            try await pair.standby.catchUp(with: pair.primary)
            try await pair.primary.kill()
            #expect(try await storage.value(for: token, .stale(upTo: .seconds(86_400))) == "secret")
        }
    }
#endif
