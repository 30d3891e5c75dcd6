internal import Dispatch
import Synchronization

/// A point on a clock that never goes back, in nanoseconds since an arbitrary beginning.
package struct MonotonicInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's beginning.
    package var nanoseconds: Int64

    /// Creates an instant.
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whether the first is earlier than the second.
    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant that lies a duration later; durations beyond 292 years are cut off.
    package func advanced(by duration: Duration) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// The time from this instant to a later one.
    package func duration(to later: MonotonicInstant) -> Duration { .nanoseconds(later.nanoseconds - nanoseconds) }
}

extension Duration {
    /// The duration in nanoseconds, cut off at the range of `Int64`.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}

/// Time as a store or the router sees it.
package protocol RuntimeClock: Sendable {
    /// Now, on a clock that never goes back.
    var now: MonotonicInstant { get }

    /// Now, in seconds since 1970-01-01T00:00:00Z, on a clock that can be set to any time. Never used to order events.
    var wallSeconds: Double { get }

    /// The time since the machine was started, including the time that it was suspended. It never goes back within a boot, cannot be set, and is the same for all processes.
    var sinceBoot: Duration { get }

    /// Runs an action once, at or after an instant, until it is cancelled. The action must not block.
    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction

    /// Lets a duration pass, blocking the calling thread: for lanes only, never on the cooperative pool.
    func pause(_ duration: Duration)
}

extension RuntimeClock {
    /// Waits for a duration, without a thread. A caller that is cancelled waits on: for short times only.
    package func wait(_ duration: Duration) async {
        await withCheckedContinuation { continuation in _ = schedule(at: now.advanced(by: duration)) { continuation.resume() } }
    }
}

/// An action that a clock will run, and the means to stop it.
package struct ScheduledAction: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Creates a handle; the closure stops the action if it has not run yet.
    package init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Stops the action if it has not run yet.
    package func cancel() { onCancel() }
}

/// The machine's own clocks.
package struct SystemClock: RuntimeClock {
    /// Creates the clock.
    package init() {}

    /// The machine's uptime, without the time it slept.
    package var now: MonotonicInstant { MonotonicInstant(nanoseconds: Int64(bitPattern: DispatchTime.now().uptimeNanoseconds)) }

    /// The machine's wall clock.
    package var wallSeconds: Double { systemWallSeconds() }

    /// The machine's boot clock.
    package var sinceBoot: Duration { systemTimeSinceBoot() }

    /// Runs an action on a dispatch queue.
    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        Self.timer.schedule(at: instant, action)
    }

    /// Lets the calling thread sleep.
    package func pause(_ duration: Duration) { systemPause(nanoseconds: duration.wholeNanoseconds) }

    private static let timer = SharedTimer()
}

/// One timer for all scheduled actions.
///
/// Nearly every scheduled action is a deadline that is cancelled long before its time. A system timer for each would cost more than a short read,
/// so the system timer is set only for the earliest of all times, and at most once for each.
private final class SharedTimer: Sendable {
    private struct State {
        var actions: [UInt64: (instant: MonotonicInstant, run: @Sendable () -> Void)] = [:]
        var last: UInt64 = 0
        /// The time of the system timer; nil if none is set.
        var armed: MonotonicInstant?
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "LocalData.clock")

    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        let (number, mustArm) = state.withLock { state in
            state.last += 1
            state.actions[state.last] = (instant, action)
            return (state.last, Self.arm(instant, &state))
        }
        if mustArm { wake(at: instant) }
        return ScheduledAction { [self] in
            // Release what the action holds outside the lock.
            _ = state.withLock { $0.actions.removeValue(forKey: number) }
        }
    }

    /// Whether the system timer must be set to an instant.
    private static func arm(_ instant: MonotonicInstant, _ state: inout State) -> Bool {
        if let armed = state.armed, armed <= instant { return false }
        state.armed = instant
        return true
    }

    private func wake(at instant: MonotonicInstant) {
        queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: UInt64(max(1, instant.nanoseconds)))) { self.fire(instant) }
    }

    private func fire(_ instant: MonotonicInstant) {
        let (due, next) = state.withLock { state -> ([@Sendable () -> Void], MonotonicInstant?) in
            // An earlier timer was set meanwhile; it sets the next one itself.
            guard state.armed == instant else { return ([], nil) }
            state.armed = nil
            let now = SystemClock().now
            let due = state.actions.filter { $0.value.instant <= now }.sorted { ($0.value.instant, $0.key) < ($1.value.instant, $1.key) }
            for (number, _) in due { state.actions[number] = nil }
            let next = state.actions.values.map(\.instant).min()
            if let next { _ = Self.arm(next, &state) }
            return (due.map(\.value.run), next)
        }
        if let next { wake(at: next) }
        for action in due { action() }
    }
}
