#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import CLibSecret

    /// The context that all requests of one caller share: the deadline, a signal that the caller has left (no longer
    /// waits), and the settings of the store.
    final class BusCall: Sendable {
        private let clock: any RuntimeClock
        let deadline: MonotonicInstant
        /// Whether secrets may be sent over the bus unencrypted.
        let allowsPlainTransport: Bool
        let stop = StopSignal()

        /// Creates the context of a call on a lane (a serial queue for blocking work). When the caller leaves, `stop`
        /// is raised.
        init<Response>(_ call: LaneCall<Response>, clock: any RuntimeClock, allowsPlainTransport: Bool) {
            self.clock = clock
            self.deadline = call.deadline
            self.allowsPlainTransport = allowsPlainTransport
            call.whenAbandoned { [stop] _ in stop.raise() }
        }

        private init(clock: any RuntimeClock, deadline: MonotonicInstant, allowsPlainTransport: Bool) {
            (self.clock, self.deadline, self.allowsPlainTransport) = (clock, deadline, allowsPlainTransport)
        }

        /// Returns a context for one more request, even if this call is over. The request may take five seconds. It
        /// does not stop when the caller leaves.
        func afterwards() -> BusCall {
            BusCall(clock: clock, deadline: clock.now.advanced(by: .seconds(5)), allowsPlainTransport: allowsPlainTransport)
        }

        /// Whether the deadline passed or the caller left.
        var isOver: Bool { stop.isRaised || clock.now >= deadline }

        /// Whether so little time is left that the call should give up before it changes anything. The caller then gets
        /// an error which says that nothing was changed. A moment later, the deadline would pass while the work runs,
        /// and the outcome would be `unknown`.
        var isNearlyOver: Bool { stop.isRaised || clock.now.duration(to: deadline) < .milliseconds(25) }

        /// Blocks the thread for a moment.
        func pause() { clock.pause(.milliseconds(5)) }

        /// Returns the time until the deadline in whole milliseconds, plus the given number of seconds.
        /// - Throws: ``KeyringFault`` if no time is left or the caller has left.
        func milliseconds(plusSeconds extra: Int64 = 0) throws(KeyringFault) -> Int32 {
            if stop.isRaised { throw KeyringFault(.cancelled, "cancelled") }
            let left = clock.now.duration(to: deadline).wholeNanoseconds / 1_000_000
            guard left > 0 else { throw KeyringFault(.timedOut, "deadline") }
            return Int32(clamping: left.addingReportingOverflow(extra * 1_000).partialValue)
        }
    }

    /// `@unchecked Sendable`: the pointer is never replaced, and `g_cancellable_cancel` may be called on any thread
    /// (documentation of GIO).
    final class StopSignal: @unchecked Sendable {
        let pointer = g_cancellable_new()

        deinit { g_object_unref(pointer) }

        func raise() { g_cancellable_cancel(pointer) }

        var isRaised: Bool { g_cancellable_is_cancelled(pointer) != 0 }
    }
#endif
