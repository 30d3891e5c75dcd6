#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of a pooler that leads to a promoted standby while the connections of the clients stay open.
    @Suite(.slow("starts servers"), .timeLimit(.minutes(10))) struct PoolerFailoverTests {
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
#endif
