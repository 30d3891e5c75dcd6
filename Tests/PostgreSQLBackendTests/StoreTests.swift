#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Sealing
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of the PostgreSQL backend with a real server.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct StoreTests {
        @Test func `a value is read back by another store with the same key`() async throws {
            let place = try await TestDatabase()
            let address = StorageAddress("token")
            #expect(try await place.store().read(address) == .absent)
            let result = try await place.store().apply(.put(.bytes([1, 2, 3]), at: address))
            #expect(result.isApplied)
            let record = try #require(try await place.store().read(address).record)
            #expect(record.payload == .bytes([1, 2, 3]))
        }

        @Test(arguments: [0, 1, 2, 256, 2_000])
        func `the chance of a purge grows with the number of statements, so deletions of whole pages are purged`(_ count: Int) {
            let purging = (0..<UInt64(1_024)).count { ServerWriter.isPurging($0, statements: count) }
            #expect(purging == min(1_024, max(1, count)))
        }

        @Test func `a store that is released closes its connections`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            do {
                let store = place.store()
                for number in 0..<20 { _ = try await store.apply(.put(.bytes([1]), at: StorageAddress("\(number)"))) }
                _ = try await store.read((0..<20).map { StorageAddress("\($0)") }, .fresh)
            }
            while try await place.server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'localdata'") != ["0"] {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
#endif
