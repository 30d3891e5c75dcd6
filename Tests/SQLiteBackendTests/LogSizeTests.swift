#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// The size of the write-ahead log while readers hold an older state, and after them.
    @Suite(.inTurn) struct LogSizeTests {
        private let place: Place

        init() throws { place = try Place() }

        private func put(_ size: Int, at name: String, _ store: SQLiteStore) async throws {
            #expect(try await store.apply(.put(.bytes([UInt8](repeating: 7, count: size)), at: StorageAddress(name))).isApplied)
        }

        private func logSize() throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: place.logPath)[.size] as? Int)
        }

        /// Holds the present state of the database while the body runs.
        private func reading(_ body: () async throws -> Void) async throws {
            let reader = try PlainDatabase(path: place.path)
            try reader.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
            try await body()
            try reader.execute("COMMIT")
        }

        @Test func `a log that grew while a reader held an older state is cut back to 4 MiB`() async throws {
            let store = place.store()
            try await put(1, at: "a", store)
            try await reading { try await put(8 << 20, at: "b", store) }
            #expect(try logSize() > 8 << 20)
            // The first change lets the log be written back, and the second one begins the log again.
            for number in 0..<2 { try await put(1, at: "c\(number)", store) }
            #expect(try logSize() <= 4 << 20)
            await store.close()
        }
    }
#endif
