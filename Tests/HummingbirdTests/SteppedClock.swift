#if Hummingbird
    import BackendRuntime
    import Synchronization

    /// A clock whose date changes only when a test advances it, so that times of expiry are exact.
    ///
    /// Deadlines of stores follow the real time. A timer of an hour or more waits until the test lets it fire.
    final class SteppedClock: RuntimeClock {
        /// A timer of an hour or more.
        final class HeldTimer: Sendable {
            private let action: @Sendable () -> Void
            private let cancelled = Atomic(false)

            fileprivate init(_ action: @escaping @Sendable () -> Void) { self.action = action }

            var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

            func fire() { if !isCancelled { action() } }

            fileprivate func cancel() { cancelled.store(true, ordering: .releasing) }
        }

        /// The date of a new clock: a whole number, so that the sums with binary fractions are exact. It is in the year 2033.
        static let start = 2_000_000_000.0

        /// The timers of an hour or more, in the order in which they were set.
        let timers: AsyncStream<HeldTimer>
        private let continuation: AsyncStream<HeldTimer>.Continuation
        private let base = SystemClock()
        private let passed = Mutex(Duration.zero)
        private let start: Double

        /// Creates a clock.
        /// - Parameter start: The date, in seconds since 1970.
        init(start: Double = SteppedClock.start) {
            (timers, continuation) = AsyncStream.makeStream(of: HeldTimer.self)
            self.start = start
        }

        /// Advances the date and the time since boot.
        func advance(by duration: Duration) { passed.withLock { $0 += duration } }

        var now: MonotonicInstant { base.now }

        var wallSeconds: Double { start + passed.withLock(\.self) / .seconds(1) }

        var sinceBoot: Duration { base.sinceBoot + passed.withLock(\.self) }

        func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
            guard base.now.duration(to: instant) > .seconds(3_000) else { return base.schedule(at: instant, action) }
            let timer = HeldTimer(action)
            continuation.yield(timer)
            return ScheduledAction { timer.cancel() }
        }

        func pause(_ duration: Duration) { base.pause(duration) }
    }
#endif
