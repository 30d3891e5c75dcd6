#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import CLibSecret

    /// What every request of one caller shares: its deadline, the means to stop waiting when the caller leaves, and what its store allows.
    final class BusCall: Sendable {
        private let clock: any RuntimeClock
        let deadline: MonotonicInstant
        /// Whether secrets may be sent over the bus as they are.
        let allowsPlainTransport: Bool
        let stop = StopSignal()

        /// A call on a lane, stopped when its caller leaves.
        init<Response>(_ call: LaneCall<Response>, clock: any RuntimeClock, allowsPlainTransport: Bool) {
            self.clock = clock
            self.deadline = call.deadline
            self.allowsPlainTransport = allowsPlainTransport
            call.whenAbandoned { [stop] _ in stop.raise() }
        }

        private init(clock: any RuntimeClock, deadline: MonotonicInstant, allowsPlainTransport: Bool) {
            (self.clock, self.deadline, self.allowsPlainTransport) = (clock, deadline, allowsPlainTransport)
        }

        /// A call of its own for one more request, also when this one is over. It has five seconds, and no caller who could leave.
        func afterwards() -> BusCall {
            BusCall(clock: clock, deadline: clock.now.advanced(by: .seconds(5)), allowsPlainTransport: allowsPlainTransport)
        }

        /// Whether the deadline passed or the caller left.
        var isOver: Bool { stop.isRaised || clock.now >= deadline }

        /// Whether so little time is left that nothing more should be waited for: the caller is then told for certain that nothing happened,
        /// where a moment later it would have left not knowing.
        var isNearlyOver: Bool { stop.isRaised || clock.now.duration(to: deadline) < .milliseconds(25) }

        /// Lets a moment pass.
        func pause() { clock.pause(.milliseconds(5)) }

        /// The time left, in whole milliseconds, plus a number of seconds.
        /// - Throws: ``KeyringFault`` when none is left.
        func milliseconds(plusSeconds extra: Int64 = 0) throws(KeyringFault) -> Int32 {
            if stop.isRaised { throw KeyringFault(.cancelled, "cancelled") }
            let left = clock.now.duration(to: deadline).wholeNanoseconds / 1_000_000
            guard left > 0 else { throw KeyringFault(.timedOut, "deadline") }
            return Int32(clamping: left.addingReportingOverflow(extra * 1_000).partialValue)
        }
    }

    /// Ends waiting requests from another thread.
    ///
    /// `@unchecked Sendable`: the pointer is never replaced, and `g_cancellable_cancel` may be called from any thread (GIO's documentation).
    final class StopSignal: @unchecked Sendable {
        let pointer = g_cancellable_new()

        deinit { g_object_unref(pointer) }

        func raise() { g_cancellable_cancel(pointer) }

        var isRaised: Bool { g_cancellable_is_cancelled(pointer) != 0 }
    }
#endif
