package import BackendRuntime
import Synchronization

/// A clock whose wall time is that of the server, after the first connection. So all machines agree on which
/// values have expired, and a machine whose clock is wrong purges nothing.
///
/// Between two connections, the time since the start of the machine is added. That time cannot be set.
package final class ServerClock: RuntimeClock {
    private let base: any RuntimeClock
    private let known = Mutex<(seconds: Double, sinceBoot: Duration)?>(nil)

    /// Creates a clock that has the time of another clock until ``note(_:)`` is called.
    package init(_ base: any RuntimeClock) { self.base = base }

    /// Notes the time of the server: seconds since 1970-01-01T00:00:00Z.
    package func note(_ seconds: Double) {
        let now = base.sinceBoot
        known.withLock { $0 = (seconds, now) }
    }

    package var now: MonotonicInstant { base.now }

    /// The time of the server; that of this machine before the first connection.
    package var wallSeconds: Double {
        guard let (seconds, start) = known.withLock(\.self) else { return base.wallSeconds }
        return seconds + (base.sinceBoot - start) / .seconds(1)
    }

    package var sinceBoot: Duration { base.sinceBoot }

    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        base.schedule(at: instant, action)
    }

    package func pause(_ duration: Duration) { base.pause(duration) }
}
