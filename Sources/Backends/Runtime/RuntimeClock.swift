internal import Dispatch
import Synchronization

/// A point on a clock that never goes back, in nanoseconds since an arbitrary beginning.
public struct MonotonicInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's beginning.
    public var nanoseconds: Int64

    /// Creates an instant.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Whether the first is earlier than the second.
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant that lies a duration later; durations beyond 292 years are cut off.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicInstant(nanoseconds: overflow ? .max : sum)
    }

    /// The time from this instant to a later one.
    public func duration(to later: MonotonicInstant) -> Duration { .nanoseconds(later.nanoseconds - nanoseconds) }
}

extension Duration {
    /// The duration in nanoseconds, cut off at the range of `Int64`.
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}

/// Time as a store or the router sees it.
public protocol RuntimeClock: Sendable {
    /// Now, on a clock that never goes back.
    var now: MonotonicInstant { get }

    /// Now, in seconds since 1970-01-01T00:00:00Z, on a clock that people may set. Never used to order anything.
    var wallSeconds: Double { get }

    /// Runs an action once, at or after an instant, until it is cancelled. The action must not block.
    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction

    /// Lets a duration pass, blocking the calling thread: for lanes only, never on the cooperative pool.
    func pause(_ duration: Duration)
}

/// An action that a clock will run, and the means to stop it.
public struct ScheduledAction: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Creates a handle; the closure stops the action if it has not run yet.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Stops the action if it has not run yet.
    public func cancel() { onCancel() }
}

/// The machine's own clocks.
public struct SystemClock: RuntimeClock {
    /// Creates the clock.
    public init() {}

    /// The machine's uptime, without the time it slept.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: Int64(bitPattern: DispatchTime.now().uptimeNanoseconds)) }

    /// The machine's wall clock.
    public var wallSeconds: Double { systemWallSeconds() }

    /// Runs an action on a dispatch queue.
    public func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        let item = DispatchWorkItem(block: action)
        let when = DispatchTime(uptimeNanoseconds: UInt64(max(1, instant.nanoseconds)))
        Self.queue.asyncAfter(deadline: when, execute: item)
        let held = UncheckedWorkItem(item: item)
        return ScheduledAction { held.item.cancel() }
    }

    /// Lets the calling thread sleep.
    public func pause(_ duration: Duration) { systemPause(nanoseconds: duration.wholeNanoseconds) }

    private static let queue = DispatchQueue(label: "LocalData.clock")
}

/// `DispatchWorkItem.cancel()` may be called from any thread: it only sets an atomic flag in libdispatch.
private struct UncheckedWorkItem: @unchecked Sendable {
    let item: DispatchWorkItem
}
