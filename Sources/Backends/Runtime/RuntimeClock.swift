internal import Dispatch
import Synchronization

/// A point in time on a clock that never goes back, in nanoseconds since an arbitrary start.
package struct MonotonicInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's start.
    package var nanoseconds: Int64

    /// Creates an instant.
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whether the first instant is earlier than the second.
    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the instant that is the given duration after this one. A result beyond the range of `Int64` (292 years)
    /// becomes the last instant of the range.
    package func advanced(by duration: Duration) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// Returns the time from this instant to a later one.
    package func duration(to later: MonotonicInstant) -> Duration { .nanoseconds(later.nanoseconds - nanoseconds) }
}

extension Duration {
    /// The duration in whole nanoseconds, limited to the range of `Int64`.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLarge || overflow ? (seconds < 0 ? .min : .max) : sum
    }
}

/// The clock that LocalData uses. Tests and simulations replace it.
package protocol RuntimeClock: Sendable {
    /// The current time on a clock that never goes back.
    var now: MonotonicInstant { get }

    /// The current time in seconds since 1970-01-01T00:00:00Z. A system clock can be set to any time, so this is
    /// never used to order events.
    var wallSeconds: Double { get }

    /// The time since the machine was started, including suspension. It never goes back within a boot, cannot be set,
    /// and is the same for all processes.
    var sinceBoot: Duration { get }

    /// Runs an action once, at or after an instant, unless it is cancelled before. The action must not block.
    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction

    /// Blocks the calling thread for a duration. Call this only on a lane (a serial queue for blocking work), never
    /// on Swift's cooperative pool.
    func pause(_ duration: Duration)
}

extension RuntimeClock {
    /// Waits for a duration without blocking a thread. Cancellation does not end the wait, so use short durations
    /// only.
    package func wait(_ duration: Duration) async {
        await withCheckedContinuation { continuation in _ = schedule(at: now.advanced(by: duration)) { continuation.resume() } }
    }
}

/// A handle that can cancel a scheduled action.
package struct ScheduledAction: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Creates a handle. The closure must stop the action if it has not run yet.
    package init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Stops the action if it has not run yet.
    package func cancel() { onCancel() }
}

/// The clocks of this machine.
package struct SystemClock: RuntimeClock {
    /// Creates the clock.
    package init() {}

    /// The machine's uptime, without suspension.
    package var now: MonotonicInstant { MonotonicInstant(nanoseconds: Int64(bitPattern: DispatchTime.now().uptimeNanoseconds)) }

    /// The machine's wall clock.
    package var wallSeconds: Double { systemWallSeconds() }

    /// The time since the machine was started, including suspension.
    package var sinceBoot: Duration { systemTimeSinceBoot() }

    /// Runs an action on a dispatch queue.
    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        Self.timer.schedule(at: instant, action)
    }

    /// Blocks the calling thread.
    package func pause(_ duration: Duration) { systemPause(nanoseconds: duration.wholeNanoseconds) }

    private static let timer = SharedTimer()
}

/// One system timer for all scheduled actions.
///
/// Nearly every scheduled action is a deadline that is cancelled long before its time. A system timer for each action
/// would cost more than a short read. The system timer is therefore set only for the earliest instant, and at most
/// once for each instant.
private final class SharedTimer: Sendable {
    private struct State {
        var actions: [UInt64: (instant: MonotonicInstant, run: @Sendable () -> Void)] = [:]
        var last: UInt64 = 0
        /// The instant for which the system timer is set; nil if it is not set.
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
            // Return the closure from the lock, so that the objects that it references are released outside the lock.
            _ = state.withLock { $0.actions.removeValue(forKey: number) }
        }
    }

    /// Returns whether the caller must now set the system timer for an instant, and remembers this instant. Returns
    /// false if the timer is already set for that instant or an earlier one.
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
            // Do nothing if the system timer was set for an earlier instant after this call was scheduled. The call for
            // that instant sets the timer again.
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
