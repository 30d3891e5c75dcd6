package import BackendRuntime
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
public final class TestClock: Sendable {
    /// The clock as the runtime sees it.
    package let shifted: ShiftedClock

    /// Creates a clock that shows the present.
    public init() { shifted = ShiftedClock(SystemClock()) }

    /// Moves the date.
    /// - Parameter duration: By how much; back, for a negative one.
    public func advance(by duration: Duration) { shifted.advance(by: duration) }
}

extension StorageConfiguration {
    /// Takes the date from a clock of the test's.
    public mutating func use(_ clock: TestClock) { runtime.clock = clock.shifted }
}

/// A clock over another one, with the date moved.
package final class ShiftedClock: RuntimeClock {
    private let base: any RuntimeClock
    private let shift = Mutex(0.0)

    /// Creates a clock that shows the time of another.
    /// - Parameter base: The other clock.
    package init(_ base: any RuntimeClock) { self.base = base }

    /// Moves the date.
    package func advance(by duration: Duration) {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        shift.withLock { $0 += seconds }
    }

    /// The base's own.
    package var now: MonotonicInstant { base.now }
    /// The base's date, moved.
    package var wallSeconds: Double { base.wallSeconds + shift.withLock(\.self) }
    /// As the base does.
    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        base.schedule(at: instant, action)
    }
    /// As the base does.
    package func pause(_ duration: Duration) { base.pause(duration) }
}
