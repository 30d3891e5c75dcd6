#if Observability
    public import CoreMetrics
    public import LocalData

    /// Reports the calls and events of a router to swift-metrics.
    ///
    /// Use it to see how long calls take and which errors occur, for example in Prometheus.
    ///
    /// ```swift
    /// configuration.instruments.append(StorageMetrics())  // reports to the metrics system that the program bootstrapped
    /// ```
    ///
    /// * The timer `localdata.operation.duration` has the duration of a call. Its dimensions are `operation`, `domain`
    /// (the kind of store, or `several`) and `outcome` (`ok`, or the code of the error).
    /// * A counter with the name of each `StorageEvent` has the number of values that the event concerns.
    /// It has the dimension `code` if the event has an error.
    ///
    /// No metric contains a value, or the name of a key, a record or a store.
    public struct StorageMetrics: StorageInstrument {
        private let factory: any MetricsFactory
        private let clock = ContinuousClock()

        /// Creates the instrument.
        /// - Parameter factory: The metrics system; by default the one that the program bootstrapped.
        public init(factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

        /// Runs a call and reports its duration and outcome.
        public func observe<R>(_ operation: StorageOperation, _ body: () async throws -> R) async throws -> R {
            let start = clock.now
            do {
                let result = try await body()
                report(operation, "ok", start)
                return result
            } catch {
                report(operation, (error as? StorageError)?.code.name ?? "other", start)
                throw error
            }
        }

        private func report(_ operation: StorageOperation, _ outcome: String, _ start: ContinuousClock.Instant) {
            let (seconds, attoseconds) = start.duration(to: clock.now).components
            CoreMetrics.Timer(
                label: "localdata.operation.duration",
                dimensions: [("operation", operation.name), ("domain", operation.domain?.name ?? "several"), ("outcome", outcome)],
                factory: factory
            ).recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }

        /// Counts an event.
        public func record(_ event: StorageEvent) {
            func count(_ amount: Int, _ dimensions: [(String, String)] = []) {
                Counter(label: event.name, dimensions: dimensions, factory: factory).increment(by: amount)
            }
            switch event {
            case .migrated(let values): count(values)
            case .changesRepeated(let changes), .changesLost(let changes): count(changes)
            case .migrationFailed(let code), .readUnmigrated(let code), .mirrorPending(let code), .damagedRecordSkipped(let code):
                count(1, [("code", code.name)])
            case .sweepEnded, .catalogProblem: count(1)
            }
        }
    }
#endif
