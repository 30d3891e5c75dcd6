#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Synchronization
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

        /// Two readers, of which the later one begins before the earlier one ends.
        private final class OverlappingReaders: Sendable {
            private let path: String
            private let readers = Mutex<[PlainDatabase]>([])

            init(_ path: String) { self.path = path }

            /// Begins another read of the present state, and ends the earliest one.
            func proceed() throws {
                try readers.withLock { readers in
                    let next = try PlainDatabase(path: path)
                    try next.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
                    readers.append(next)
                    if readers.count > 2 { try readers.removeFirst().execute("COMMIT") }
                }
            }
        }

        @Test func `a log stays below 32 MiB while there is a reader of an older state at every commit`() async throws {
            let readers = OverlappingReaders(place.path)
            var runtime = Runtime.live
            // While a checkpoint waits for readers, they go on.
            runtime.clock = ManualClock(.inRealTime) { _ in try? readers.proceed() }
            let store = place.store(runtime: runtime)
            try await put(1, at: "a", store)
            var longest = 0
            for number in 0..<64 {
                try readers.proceed()
                try await put(1 << 20, at: "b\(number % 4)", store)
                longest = max(longest, try logSize())
            }
            #expect(longest > 16 << 20)
            #expect(longest < 32 << 20)
            await store.close()
        }
    }
#endif
