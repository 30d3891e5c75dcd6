#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests that cut the connection at every message of each operation. The store connects again and finds out whether
    /// the change was committed.
    @Suite(.slow("cuts hundreds of connections"), .timeLimit(.minutes(20))) struct CutTests {
        enum Operation: String, CaseIterable, Sendable {
            case read, list, insert, replace, batch, delete, tombstone
        }

        @Test func `an abandoned transaction stays abandoned when the answer is lost and requested again`() async throws {
            let place = try await TestDatabase()
            #expect(try await place.store().apply(.put(.bytes([1]), at: StorageAddress("token"))).isApplied)
            let tables = ServerTables(schema: "tests")
            let (clock, random) = (SystemClock(), Runtime.live.randomBytes)
            let end = clock.now.advanced(by: .seconds(20))
            var silent: Set<Int> = []
            let connection = try ServerConnection.connect(place.server.conninfo, silent: &silent, deadline: end, clock: clock)
            let (abandoned, committed) = (random(16), random(16))
            _ = try connection.run([tables.record(committed, context: [], rows: [], deletions: 0)], until: end)
            for _ in 0..<2 {
                #expect(try connection.run(tables.settle(abandoned), until: end)[1].rows.first?.isTrue(0) == false)
                #expect(try connection.run(tables.settle(committed), until: end)[1].rows.first?.isTrue(0) == true)
            }
            #expect(throws: ServerFault.self) {
                try connection.run([tables.record(abandoned, context: [], rows: [], deletions: 0)], until: end)
            }
        }

        @Test(arguments: Operation.allCases)
        func `an operation has its effect once, at whichever message the connection is cut`(_ operation: Operation) async throws {
            let place = try await TestDatabase()
            let proxy = try CuttingProxy(place.server)
            let (store, direct) = (place.store(proxy.conninfo), place.store())
            var cuts = 0
            for message in 0..<1_000 {
                let space = StorageNamespace("\(message)")
                let (one, two) = (StorageAddress("one", in: space), StorageAddress("two", in: space))
                // The connections exist before the cut, so that the cut hits the operation.
                let before = try await store.apply(.put(.bytes([1]), at: one))
                guard case .applied(let revision?, _) = before else { throw ProgramFailure("\(before)") }
                _ = try await store.read(one)
                _ = try await store.page(StorageQuery(space), after: nil, limit: 1)
                proxy.cut(after: message)
                switch operation {
                case .read:
                    #expect(try await store.read(one).record?.payload == .bytes([1]))
                    #expect(try await store.read(two) == .absent)
                case .list:
                    #expect(try await store.addresses(in: space) == [one])
                case .insert: #expect(try await store.apply(.put(.bytes([2]), at: two, if: .absent)).isApplied)
                case .replace: #expect(try await store.apply(.put(.bytes([2]), at: one, if: .revision(revision))).isApplied)
                case .batch:
                    let results = try await store.apply([
                        .put(.bytes([2]), at: one, if: .revision(revision)), .check(two, if: .absent),
                    ])
                    let areApplied = results.allSatisfy(\.isApplied)
                    #expect(areApplied, "\(results)")
                case .delete: #expect(try await store.apply(.delete(one, if: .revision(revision))).isApplied)
                case .tombstone: #expect(try await store.apply(.tombstone(at: one, if: .revision(revision))).isApplied)
                }
                let hasCut = proxy.stop() > 0
                let probes = try await direct.read([one, two], .fresh)
                switch operation {
                case .read, .list: #expect(probes[0].revision == revision && probes[1] == .absent)
                case .insert: #expect(probes[0].revision == revision && probes[1].record?.payload == .bytes([2]))
                case .replace, .batch: #expect(probes[0].record?.payload == .bytes([2]) && probes[1] == .absent)
                case .delete: #expect(probes[0] == .absent)
                case .tombstone: if case .tombstone = probes[0] {} else { Issue.record("\(probes[0])") }
                }
                if !hasCut { break }
                cuts += 1
            }
            #expect(cuts >= 8, "\(operation): \(cuts) messages")
        }

        @Test func `a commit has its effect once, although the question for its outcome is cut too`() async throws {
            let place = try await TestDatabase()
            let proxy = try CuttingProxy(place.server)
            let (store, direct) = (place.store(proxy.conninfo, connections: 2), place.store())
            let address = StorageAddress("one")
            guard case .applied(var revision?, _) = try await store.apply(.put(.bytes([1]), at: address)) else {
                throw ProgramFailure("The value is not stored.")
            }
            var (number, secondCuts): (UInt8, Int) = (1, 0)
            for first in 0..<1_000 {
                var hasCut = false
                // The next connection sends some forty messages before it asks.
                for second in stride(from: 0, to: 80, by: 2) {
                    number &+= 1
                    proxy.cut(after: first, second)
                    let result = try await store.apply(.put(.bytes([number]), at: address, if: .revision(revision)))
                    let cuts = proxy.stop()
                    guard case .applied(let next?, _) = result else {
                        Issue.record("\(first), \(second): \(result)")
                        return
                    }
                    let probe = try await direct.read(address, .fresh)
                    #expect(probe.revision == next && probe.record?.payload == .bytes([number]))
                    revision = next
                    hasCut = hasCut || cuts > 0
                    secondCuts += cuts > 1 ? 1 : 0
                    if cuts < 2 { break }
                }
                if !hasCut { break }
            }
            #expect(secondCuts > 100)
        }
    }
#endif
