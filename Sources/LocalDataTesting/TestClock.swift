public import BackendRuntime
public import LocalData
import Synchronization

/// A clock whose date a test moves by hand, for values that expire. The monotonic time is that of the base clock.
///
/// ```swift
/// let clock = TestClock()
/// let machine = TestMachine { $0.use(clock) }
/// try await router.set(code, for: .code, lifetime: .seconds(60))
/// clock.advance(by: .seconds(61))
/// ```
public final class TestClock: RuntimeClock {
    private let base: any RuntimeClock
    private let shift = Mutex(0.0)

    /// Creates a clock that shows the date of another clock.
    /// - Parameter base: The other clock.
    public init(_ base: any RuntimeClock = SystemClock()) { self.base = base }

    /// Moves the date.
    /// - Parameter duration: The distance; a negative one moves the date back.
    public func advance(by duration: Duration) {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        shift.withLock { $0 += seconds }
    }

    /// The monotonic time of the base clock.
    public var now: MonotonicInstant { base.now }
    /// The date of the base clock, plus the shift.
    public var wallSeconds: Double { base.wallSeconds + shift.withLock(\.self) }
    /// Schedules an action on the base clock.
    public func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        base.schedule(at: instant, action)
    }
    /// Pauses on the base clock.
    public func pause(_ duration: Duration) { base.pause(duration) }
}

extension StorageConfiguration {
    /// Uses a test clock.
    public mutating func use(_ clock: TestClock) { runtime.clock = clock }
}
