#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of servers whose history is not the one in which changes were acknowledged: a standby that never followed the
    /// primary, a branch with the same timeline, and a snapshot of the disk.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct HistoryTests {
        private let kept = StorageAddress("kept")
        private let removed = StorageAddress("removed")
        private let missing = StorageAddress("missing")

        private func error(_ probe: StorageProbe) -> BackendError? {
            if case .unavailable(let error) = probe { error } else { nil }
        }

        private func error(_ result: MutationResult) -> BackendError? {
            if case .failed(let error) = result { error } else { nil }
        }

        private func accept(_ conninfo: String) async throws {
            try await PostgreSQLSchema.acceptFailover(conninfo: conninfo, schema: "tests", deadline: .seconds(60), runtime: .live)
        }

        /// Returns the statement of the guide SeveralMachines with which a failover manager accepts a promotion.
        private static func statementOfGuide() throws -> String {
            let guide = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Sources/LocalData/Documentation.docc/SeveralMachines.md")
            let text = try String(contentsOf: guide.standardized, encoding: .utf8)
            let block = try #require(text.firstRange(of: /```sql\n[^`]*```/)).lowerBound
            let lines = text[block...].split(separator: "\n").dropFirst().prefix { $0 != "```" }
            return lines.joined(separator: " ").replacing("localdata.history", with: "tests.history")
        }

        // MARK: Branches

        /// A primary with two standbys that both have its values.
        private struct Three {
            let servers: [PrivatePostgreSQL]
            let place: TestDatabase
            var conninfo: String { "host=\(servers.map(\.folder).joined(separator: ",")) user=owner dbname=postgres" }

            init() async throws {
                let primary = try await PrivatePostgreSQL()
                place = try await TestDatabase(on: primary)
                for name in ["kept", "removed"] {
                    #expect(try await place.store().apply(.put(.bytes([1]), at: StorageAddress(name))).isApplied)
                }
                servers = [
                    primary, try await PrivatePostgreSQL(standbyOf: primary), try await PrivatePostgreSQL(standbyOf: primary),
                ]
                for standby in servers.dropFirst() { try await standby.catchUp(with: primary) }
            }
        }

        /// The task that first finds that another standby was promoted.
        enum Finder: CaseIterable { case call, failoverManager, watch }

        @Test(arguments: Finder.allCases)
        func `a standby that never followed the accepted one lacks its changes, and the process that made them notices`(
            _ finder: Finder
        ) async throws {
            let three = try await Three()
            let servers = three.servers
            let store = three.place.store(three.conninfo)
            let watch = finder == .watch ? Task { for await _ in store.foreignChanges() {} } : nil
            defer { watch?.cancel() }
            #expect(try await store.read(kept).record?.payload == .bytes([1]))
            try await servers[0].kill()
            try await servers[1].promote()
            #expect(try await store.read(kept).record?.payload == .bytes([1]))
            try await accept(three.conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            #expect(try await store.apply(.delete(removed)).isApplied)
            #expect(try await store.read(removed) == .absent)
            try await servers[1].kill()
            try await servers[2].promote()
            // Both promotions have the timeline 2.
            if finder == .watch {
                // The watch connects again, and notes the branch. No caller gets its error.
                while try await servers[2].sql("SELECT count(*) FROM tests.history") == ["1"] { await Task.yield() }
            }
            // The failover manager has no list of the changes that were acknowledged.
            switch finder {
            case .call: break
            case .failoverManager: _ = try await servers[2].sql(Self.statementOfGuide())
            case .watch: try await accept(three.conninfo)
            }
            for _ in 0..<2 {
                #expect(error(try await store.read(kept))?.code == .rolledBack)
                #expect(error(try await store.read(removed))?.code == .rolledBack)
                #expect(error(try await store.apply(.put(.bytes([3]), at: missing)))?.code == .rolledBack)
            }
            // Another process reads what there is. Absence is proven if a person has accepted the promotion.
            let other = three.place.store(three.conninfo)
            #expect(try await other.read(kept).record?.payload == .bytes([1]))
            #expect((error(try await other.read(missing)) == nil) == (finder != .call))
            // An acceptance after the process has seen this server is valid for the process, too.
            try await accept(three.conninfo)
            #expect(try await store.read(kept).record?.payload == .bytes([1]))
            #expect(try await store.read(removed).record?.payload == .bytes([1]))
            #expect(try await store.read(missing) == .absent)
            #expect(try await store.apply(.put(.bytes([4]), at: kept)).isApplied)
        }

        @Test func `a process refuses a standby with an earlier timeline until a person accepts it`() async throws {
            let three = try await Three()
            let servers = three.servers
            let follower = try await PrivatePostgreSQL(standbyOf: servers[1])
            let conninfo = "host=\((servers + [follower]).map(\.folder).joined(separator: ",")) user=owner dbname=postgres"
            let store = three.place.store(conninfo)
            try await servers[0].kill()
            try await servers[1].promote()
            try await accept(conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await follower.catchUp(with: servers[1])
            try await servers[1].kill()
            try await follower.promote()
            #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied)
            // The follower is on timeline 3, and the last standby begins timeline 2.
            try await follower.kill()
            try await servers[2].promote()
            for _ in 0..<2 { #expect(error(try await store.read(kept))?.code == .rolledBack) }
            try await accept(conninfo)
            #expect(try await store.read(kept).record?.payload == .bytes([1]))
        }

        @Test func `a process that has lost nothing goes on at a branch that it has not seen`() async throws {
            let three = try await Three()
            let servers = three.servers
            let store = three.place.store(three.conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            for standby in servers.dropFirst() { try await standby.catchUp(with: servers[0]) }
            try await servers[0].kill()
            try await servers[1].promote()
            #expect(try await store.read(kept).record?.payload == .bytes([2]))
            try await servers[1].kill()
            try await servers[2].promote()
            #expect(try await store.read(kept).record?.payload == .bytes([2]))
            #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied)
        }

        @Test func `an acceptance does not cover a change that was acknowledged after it`() async throws {
            let three = try await Three()
            let (primary, standby) = (three.servers[0], three.servers[1])
            let store = three.place.store(three.conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await accept(three.conninfo)
            try await standby.catchUp(with: primary)
            try await standby.leavePrimary()
            #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied)
            try await primary.kill()
            try await standby.promote()
            #expect(error(try await store.read(kept))?.code == .rolledBack)
        }

        /// The statement in the guide, for a failover manager that promotes only a standby with every acknowledged change.
        private func managersStatement() throws -> String {
            let top = (0..<4).reduce(URL(filePath: #filePath)) { path, _ in path.deletingLastPathComponent() }
            let guide = top.appending(path: "Sources/LocalData/Documentation.docc/SeveralMachines.md")
            let blocks = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "```sql\n")
            return try #require(blocks.dropFirst().first?.components(separatedBy: "\n```").first).replacing("localdata.", with: "tests.")
        }

        @Test(arguments: [false, true])
        func `the statement of a failover manager accepts the rows, and covers no loss`(_ isLost: Bool) async throws {
            let three = try await Three()
            let (primary, standby) = (three.servers[0], three.servers[1])
            let store = three.place.store(three.conninfo)
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await standby.catchUp(with: primary)
            try await standby.leavePrimary()
            if isLost { #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied) }
            try await primary.kill()
            try await standby.promote()
            while try await standby.sql("SELECT pg_is_in_recovery()") != ["f"] { await Task.yield() }
            try await standby.sql(managersStatement())
            #expect(try await three.place.store(three.conninfo).read(missing) == .absent)
            #expect(error(try await store.read(kept))?.code == (isLost ? .rolledBack : nil))
        }

        /// The keys of transactions are kept for a day.
        @Test func `a process notices the loss of a change that it made yesterday`() async throws {
            let three = try await Three()
            let (primary, standby) = (three.servers[0], three.servers[1])
            let store = three.place.store(three.conninfo)
            try await primary.sql("ALTER TABLE tests.commits ALTER COLUMN at SET DEFAULT now() - interval '40 hours'")
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await primary.sql(
                "DELETE FROM tests.commits WHERE at > now() - interval '30 hours'; ALTER TABLE tests.commits ALTER COLUMN at SET DEFAULT now() - interval '35 hours'"
            )
            try await standby.catchUp(with: primary)
            try await standby.leavePrimary()
            #expect(try await store.apply(.put(.bytes([3]), at: kept)).isApplied)
            try await primary.kill()
            try await standby.promote()
            #expect(error(try await store.read(kept))?.code == .rolledBack)
        }

        @Test func `a process that made its last change days ago goes on after a failover that lost nothing`() async throws {
            let three = try await Three()
            let (primary, standby) = (three.servers[0], three.servers[1])
            let store = three.place.store(three.conninfo)
            try await primary.sql("ALTER TABLE tests.commits ALTER COLUMN at SET DEFAULT now() - interval '40 hours'")
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            try await primary.sql("ALTER TABLE tests.commits ALTER COLUMN at SET DEFAULT now()")
            // Another process works on, and purges the keys of old transactions.
            #expect(try await three.place.store(three.conninfo).apply(.put(.bytes([1]), at: removed)).isApplied)
            try await primary.sql("DELETE FROM tests.commits WHERE at < now() - interval '1 day'")
            try await standby.catchUp(with: primary)
            try await primary.kill()
            try await standby.promote()
            #expect(try await store.read(kept).record?.payload == .bytes([2]))
        }

        // MARK: Copies

        @Test(arguments: [false, true])
        func `a snapshot of the disk that was put back is noticed by the process that wrote later`(_ isOld: Bool) async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            let store = place.store()
            if isOld { #expect(try await place.store().read(missing) == .absent) }
            #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            if isOld {
                try await server.sql(
                    "DELETE FROM tests.commits; ALTER TABLE tests.commits ALTER COLUMN at SET DEFAULT now() - interval '40 hours'")
                #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
                try await server.sql("ALTER TABLE tests.commits ALTER COLUMN at SET DEFAULT now() - interval '35 hours'")
            }
            await server.stop()
            try await server.saveFiles()
            try await server.start()
            #expect(try await store.apply(.put(.bytes([2]), at: kept)).isApplied)
            #expect(try await store.apply(.delete(missing)).isApplied)
            await server.stop()
            try await server.putFilesBack()
            try await server.start()
            #expect(error(try await store.read(kept))?.code == .rolledBack)
            #expect(error(try await store.apply(.put(.bytes([3]), at: missing)))?.code == .rolledBack)
            try await accept(server.conninfo)
            #expect(try await store.read(kept).record?.payload == .bytes([1]))
        }

        @Test func `a server that is restarted has lost nothing`() async throws {
            let server = try await PrivatePostgreSQL()
            let place = try await TestDatabase(on: server)
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            for kills in [false, true] {
                if kills { try await server.kill() } else { await server.stop() }
                try await server.start()
                #expect(try await store.read([kept, missing], .fresh) == [try await store.read(kept), .absent])
                #expect(try await store.apply(.put(.bytes([1]), at: kept)).isApplied)
            }
        }
    }
#endif
