#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests behind PgBouncer in transaction mode, which gives each transaction another connection.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct PoolerTests {
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
#endif
