#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Foundation
    import PostgreSQLBackend
    import TestSupport
    import Testing

    /// A clock whose timers never fire, so that the store sends no notices of its changes.
    private struct QuietClock: RuntimeClock {
        private let base = SystemClock()
        var now: MonotonicInstant { base.now }
        var wallSeconds: Double { base.wallSeconds }
        var sinceBoot: Duration { base.sinceBoot }
        func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
            ScheduledAction(onCancel: {})
        }
        func pause(_ duration: Duration) { base.pause(duration) }
    }

    /// Compares the traffic of each operation with the table in Proof/README.md.
    @Suite(.timeLimit(.minutes(10))) struct TrafficTests {
        private static let payload = StoragePayload.bytes([UInt8](repeating: 7, count: 100))

        /// The operations of the table. Each has its own addresses, which exist before the operation.
        private static let operations: [(name: String, work: @Sendable (PostgreSQLStore, [StorageAddress]) async throws -> Void)] = [
            ("read of a slot", { _ = try await $0.read($1[0]) }),
            ("read of 100 slots", { _ = try await $0.read($1, .fresh) }),
            ("change of a slot", { _ = try await $0.apply(.put(payload, at: $1[0])) }),
            ("batch of 100 changes", { store, all in _ = try await store.apply(all.map { .put(payload, at: $0) }) }),
            ("deletion", { _ = try await $0.apply(.delete($1[0])) }),
            ("page of 100 values", { store, all in _ = try await store.page(StorageQuery(all[0].namespace), after: nil, limit: 100) }),
        ]

        @Test func `the guide has the traffic of each operation`() async throws {
            let place = try await TestDatabase()
            let proxy = try CuttingProxy(place.server)
            var runtime = Runtime.live
            runtime.clock = QuietClock()
            let store = place.store(proxy.conninfo, connections: 2, runtime: runtime)
            var rows: [String] = []
            for (number, operation) in Self.operations.enumerated() {
                let all = (0..<100).map { StorageAddress("value \($0)", in: StorageNamespace("space \(number)")) }
                _ = try await store.apply(all.map { .put(Self.payload, at: $0) })
                _ = try await store.read(all, .fresh)
                _ = try await store.page(StorageQuery(all[0].namespace), after: nil, limit: 1)
                _ = proxy.takeTraffic()
                try await operation.work(store, all)
                let traffic = proxy.takeTraffic()
                rows.append(
                    "| \(operation.name) | \(traffic.roundTrips) | \(traffic.statements) | \(Self.rounded(traffic.bytesSent)) | \(Self.rounded(traffic.bytesReceived)) |"
                )
            }
            let guide = URL(filePath: #filePath).appending(path: "../../../README.md").standardizedFileURL
            let text = try String(contentsOf: guide, encoding: .utf8)
            for row in rows { #expect(text.contains(row), "\(rows.joined(separator: "\n"))") }
        }

        /// The bytes of an operation differ a little: texts of numbers have different lengths.
        private static func rounded(_ bytes: Int) -> String {
            bytes < 1_000
                ? "\((bytes + 50) / 100 * 100)" : bytes < 10_000 ? "\((bytes + 250) / 500 * 500)" : "\((bytes + 2_500) / 5_000 * 5_000)"
        }
    }
#endif
