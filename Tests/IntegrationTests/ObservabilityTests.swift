#if Observability
    import BackendContract
    import CoreMetrics
    import Foundation
    import InMemoryTracing
    import LocalData
    import LocalDataObservability
    import LocalDataTesting
    import Logging
    import MetricsTestKit
    import Synchronization
    import Testing
    import Tracing

    /// Metrics, traces and logs of a router.
    @Suite("Observability")
    struct ObservabilityTests {
        /// Collects the calls and events of a router.
        final class Recorder: StorageInstrument {
            let calls = Mutex<[StorageOperation]>([])
            let events = Mutex<[StorageEvent]>([])

            func observe<R>(_ operation: StorageOperation, _ body: () async throws -> R) async throws -> R {
                calls.withLock { $0.append(operation) }
                return try await body()
            }

            func record(_ event: StorageEvent) { events.withLock { $0.append(event) } }
        }

        /// Collects the lines of a log with their metadata.
        struct LineHandler: LogHandler {
            final class Lines: Sendable { let all = Mutex<[String]>([]) }

            let lines: Lines
            var logLevel = Logger.Level.trace
            var metadata = Logger.Metadata()

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                lines.all.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
            }
        }

        private static let secretName = "token-of-alice"
        private static let secret = "hunter2-hunter2"
        private static let key = StorageKey<String>(name: secretName, domain: .keychain, owner: "Tests", description: "A token")
            .moved(from: StorageKey(name: "apiToken-of-alice", domain: .userDefaults(suite: "old")))

        private struct Keys: StorageKeyCatalog {
            let id = "keys"
            var allKeys: [AnyStorageKey] { [.key(ObservabilityTests.key)] }
            var owner: String { "Tests" }
        }

        private static func machine(_ change: (inout StorageConfiguration) -> Void) -> TestMachine {
            let machine = TestMachine(change)
            machine.seedUserDefaults(["apiToken-of-alice": .string(secret)], suite: "old")
            return machine
        }

        @Test("an instrument sees each call with the kind of its store, and the events of migrations")
        func callsAndEvents() async throws {
            let recorder = Recorder()
            let storage = Self.machine { $0.instruments = [recorder] }.launch()
            _ = try await storage.get(Self.key)
            try await storage.set("new", for: Self.key)
            try await storage.remove(Self.key)
            #expect(await code(thrownBy: { try await storage.get(Self.key) }) == StorageError.notFound)
            #expect(recorder.calls.withLock { $0.map(\.name) } == ["get", "set", "remove", "get"])
            #expect(recorder.calls.withLock { $0.allSatisfy { $0.domain == .keychain } })
            #expect(recorder.events.withLock(\.self) == [.migrated(values: 1)])
        }

        @Test("an instrument sees no migration in a sweep that moves no value")
        func sweepWithoutMoves() async throws {
            struct Empty: StorageKeyCatalog {
                let id = "empty"
                let owner = "Tests"
                let allKeys: [AnyStorageKey] = [
                    .key(
                        StorageKey<String>(name: "new", domain: .userDefaults(suite: "new"))
                            .moved(from: StorageKey(name: "older", domain: .userDefaults(suite: "old"))))
                ]
            }
            let recorder = Recorder()
            let storage = TestMachine { $0.instruments = [recorder] }.launch()
            try await storage.registerCatalog(Empty(), migrateImmediately: true).requireComplete()
            let moves = recorder.events.withLock { $0.filter { if case .migrated = $0 { true } else { false } } }
            #expect(moves.isEmpty)
        }

        @Test("several instruments see a call, the first one outermost")
        func nesting() async throws {
            struct Named: StorageInstrument {
                let name: String
                let trail: LineHandler.Lines
                func observe<R>(_ operation: StorageOperation, _ body: () async throws -> R) async throws -> R {
                    trail.all.withLock { $0.append("begin \(name)") }
                    defer { trail.all.withLock { $0.append("end \(name)") } }
                    return try await body()
                }
                func record(_ event: StorageEvent) {}
            }
            let trail = LineHandler.Lines()
            let storage = TestMachine { $0.instruments = [Named(name: "a", trail: trail), Named(name: "b", trail: trail)] }.launch()
            try await storage.set("x", for: Self.key)
            #expect(trail.all.withLock(\.self) == ["begin a", "begin b", "end b", "end a"])
        }

        @Test("metrics have the duration of a call by operation, kind of store and outcome")
        func metrics() async throws {
            let metrics = TestMetrics()
            let machine = Self.machine { $0.instruments = [StorageMetrics(factory: metrics)] }
            let storage = machine.launch()
            _ = try await storage.get(Self.key)
            machine.lock(.keychain)
            #expect(await code(thrownBy: { try await storage.get(Self.key) }) == StorageError.locked)
            func timer(_ outcome: String) throws -> TestTimer {
                try metrics.expectTimer(
                    "localdata.operation.duration", [("operation", "get"), ("domain", "keychain"), ("outcome", outcome)])
            }
            #expect(try timer("ok").values.count == 1)
            #expect(try timer("locked").values.count == 1)
            #expect(try metrics.expectCounter("localdata.migrated").totalValue == 1)
        }

        @Test("a span is named after the call, and an error sets its code but not its message")
        func spans() async throws {
            let tracer = InMemoryTracer()
            let machine = Self.machine { $0.instruments = [StorageTracing(tracer: tracer)] }
            let storage = machine.launch()
            machine.lock(.keychain)
            #expect(await code(thrownBy: { try await storage.get(Self.key) }) == StorageError.locked)
            let span = try #require(tracer.finishedSpans.first)
            #expect(span.operationName == "localdata.get")
            #expect(span.status?.code == .error)
            #expect(span.errors.isEmpty)
            #expect(span.attributes.get("error.type") == .string("locked"))
            #expect(span.attributes.get("localdata.domain") == .string("keychain"))
        }

        @Test("the log, the metrics and the trace of a sweep contain neither the secret nor its name")
        func secrecy() async throws {
            let (metrics, tracer, lines) = (TestMetrics(), InMemoryTracer(), LineHandler.Lines())
            let machine = Self.machine { configuration in
                configuration.instruments = [StorageMetrics(factory: metrics), StorageTracing(tracer: tracer)]
                configuration.logger = Logger(label: "test") { _ in LineHandler(lines: lines) }
            }
            let storage = machine.launch()
            machine.lock(.keychain)
            let blocked = try await storage.registerCatalog(Keys(), migrateImmediately: true)
            machine.unlock(.keychain)
            let complete = await storage.sweep()
            #expect(blocked.blocked.count == 1)
            #expect(complete.moved.count == 1)
            let dump =
                lines.all.withLock(\.self) + metrics.timers.map { "\($0.label) \($0.dimensions) \($0.values)" }
                + metrics.counters.map { "\($0.label) \($0.dimensions) \($0.values)" }
                + tracer.finishedSpans.map {
                    "\($0.operationName) \($0.attributes) \($0.events) \($0.errors) \(String(describing: $0.status))"
                }
            #expect(dump.contains { $0.contains("localdata.sweep_ended") })
            #expect(dump.contains { $0.contains("localdata.sweep ") })
            for secret in [Self.secret, "alice"] { #expect(!dump.contains { $0.contains(secret) }, "\(dump)") }
        }
    }
#endif
