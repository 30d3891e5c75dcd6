#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Synchronization
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests that end the primary at every message of each operation. Its synchronous standby is promoted, and the store
    /// connects to it.
    @Suite(.slow("promotes a standby at every message"), .timeLimit(.minutes(20))) struct FailoverCutTests {
        /// A primary with a synchronous standby behind a proxy. After a failover, the standby takes the place of the primary.
        private final class Cluster {
            var primary: PrivatePostgreSQL
            var standby: PrivatePostgreSQL
            let proxy: CuttingProxy

            init() async throws {
                primary = try await PrivatePostgreSQL(["max_connections=200"])
                standby = try await PrivatePostgreSQL(["max_connections=200"], standbyOf: primary)
                proxy = try CuttingProxy(primary)
                try await waitForStandby()
            }

            /// Lets commits wait for the standby.
            private func waitForStandby() async throws {
                try await primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
                while try await primary.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != ["1"] {
                    await Task.yield()
                }
            }

            /// Kills the primary and promotes the standby.
            func failOver() async throws {
                try await primary.kill()
                try await standby.promote()
                primary = standby
                proxy.lead(to: primary)
            }

            func renewStandby() async throws {
                standby = try await PrivatePostgreSQL(["max_connections=200"], standbyOf: primary)
                try await waitForStandby()
            }
        }

        @Test(arguments: CutTests.Operation.allCases)
        func `an operation has its effect once or not at all, at whichever message the primary fails`(
            _ operation: CutTests.Operation
        ) async throws {
            let cluster = try await Cluster()
            let place = try await TestDatabase(on: cluster.primary)
            let store = place.store(cluster.proxy.conninfo)
            var failovers = 0
            for message in 0..<1_000 {
                let space = StorageNamespace("\(message)")
                let (one, two) = (StorageAddress("one", in: space), StorageAddress("two", in: space))
                let before = try await store.apply(.put(.bytes([1]), at: one))
                guard case .applied(let revision?, _) = before else { throw ProgramFailure("\(before)") }
                // The connections exist before the failure, so that the failure hits the operation.
                _ = try await store.read([one, two], .fresh)
                _ = try await store.page(StorageQuery(space), after: nil, limit: 1)
                let hasEnded = Shared(false)
                cluster.proxy.goDown(after: message)
                async let outcome = Self.perform(operation, store, one, two, revision, hasEnded)
                while !cluster.proxy.isDown, !hasEnded.value.withLock(\.self) { await Task.yield() }
                if cluster.proxy.isDown { try await cluster.failOver() }
                let isApplied = try await outcome
                let hasFailed = cluster.proxy.stop() > 0
                // The message came after the operation.
                if cluster.proxy.isDown { try await cluster.failOver() }
                if !hasFailed { break }
                failovers += 1
                try await PostgreSQLSchema.acceptFailover(
                    conninfo: cluster.primary.conninfo, schema: "tests", deadline: .seconds(60), runtime: .live)
                let probes = try await place.store(cluster.primary.conninfo).read([one, two], .fresh)
                Self.check(operation, isApplied, probes, revision)
                try await cluster.renewStandby()
            }
            #expect(failovers >= 8, "\(operation): \(failovers) messages")
        }

        /// Performs an operation. Returns whether it was acknowledged; false for one that changes nothing.
        private static func perform(
            _ operation: CutTests.Operation, _ store: PostgreSQLStore, _ one: StorageAddress, _ two: StorageAddress,
            _ revision: StorageRevision, _ hasEnded: Shared<Bool>
        ) async throws -> Bool {
            defer { hasEnded.value.withLock { $0 = true } }
            switch operation {
            case .read:
                let probes = try await store.read([one, two], .fresh)
                #expect(probes[0].record?.payload == .bytes([1]))
                if case .unavailable(let error) = probes[1] { #expect(error.code == .unavailable) } else { #expect(probes[1] == .absent) }
                return false
            case .list:
                do throws(BackendError) {
                    let addresses = try await store.addresses(in: one.namespace)
                    #expect(addresses == [one])
                } catch { #expect(error.code == .unavailable) }
                return false
            case .insert: return isApplied(try await store.apply([.put(.bytes([2]), at: two, if: .absent)]))
            case .replace: return isApplied(try await store.apply([.put(.bytes([2]), at: one, if: .revision(revision))]))
            case .batch:
                return isApplied(try await store.apply([.put(.bytes([2]), at: one, if: .revision(revision)), .check(two, if: .absent)]))
            case .delete: return isApplied(try await store.apply([.delete(one, if: .revision(revision))]))
            case .tombstone: return isApplied(try await store.apply([.tombstone(at: one, if: .revision(revision))]))
            }
        }

        /// Returns whether a change was acknowledged. Otherwise it must be certain that it was not made.
        private static func isApplied(_ results: [MutationResult]) -> Bool {
            if results.allSatisfy(\.isApplied) { return true }
            for case .failed(let error) in results {
                #expect(error.code == .unavailable && error.outcome == .notApplied, "\(error)")
                return false
            }
            Issue.record("\(results)")
            return false
        }

        /// Compares the content of the promoted standby with the answer.
        private static func check(
            _ operation: CutTests.Operation, _ isApplied: Bool, _ probes: [StorageProbe], _ revision: StorageRevision
        ) {
            // Only a proof of absence can fail on the promoted standby.
            #expect(isApplied || [.read, .list, .insert, .batch].contains(operation))
            guard isApplied else {
                #expect(probes[0].revision == revision && probes[1] == .absent, "\(operation)")
                return
            }
            switch operation {
            case .read, .list: break
            case .insert: #expect(probes[0].revision == revision && probes[1].record?.payload == .bytes([2]))
            case .replace, .batch: #expect(probes[0].record?.payload == .bytes([2]) && probes[1] == .absent)
            case .delete: #expect(probes[0] == .absent)
            case .tombstone: if case .tombstone = probes[0] {} else { Issue.record("\(probes[0])") }
            }
        }
    }
#endif
