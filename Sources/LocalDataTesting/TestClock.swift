package import BackendRuntime
public import LocalData
import Synchronization

/// A clock whose date a test moves by hand, for values that expire. Deadlines go by the real time.
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

    /// Moves the date, as if somebody had set the clock; the time since the machine's start stays as it is.
    /// - Parameter duration: By how much; back, for a negative one.
    public func advance(by duration: Duration) { shifted.advance(by: duration) }

    /// Lets time pass: the date and the time since the machine's start. A sweep purges a value a day after one found it expired:
    ///
    /// ```swift
    /// await router.sweep()
    /// clock.pass(.seconds(86_400))
    /// await router.sweep()
    /// ```
    /// - Parameter duration: How much of it.
    public func pass(_ duration: Duration) { shifted.pass(duration) }
}

extension StorageConfiguration {
    /// Takes the date from a clock of the test's.
    public mutating func use(_ clock: TestClock) { runtime.clock = clock.shifted }
}

/// A clock over another one, with the date moved.
package final class ShiftedClock: RuntimeClock {
    private let base: any RuntimeClock
    private let shift = Mutex((date: 0.0, boot: Duration.zero))

    /// Creates a clock that shows the time of another.
    /// - Parameter base: The other clock.
    package init(_ base: any RuntimeClock) { self.base = base }

    /// Moves the date.
    package func advance(by duration: Duration) { shift.withLock { $0.date += duration / .seconds(1) } }

    /// Moves the date and the time since the machine's start.
    package func pass(_ duration: Duration) {
        advance(by: duration)
        shift.withLock { $0.boot += duration }
    }

    /// The base's own.
    package var now: MonotonicInstant { base.now }
    /// The base's date, moved.
    package var wallSeconds: Double { base.wallSeconds + shift.withLock(\.date) }
    /// The base's own, moved.
    package var sinceBoot: Duration { base.sinceBoot + shift.withLock(\.boot) }
    /// As the base does.
    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        base.schedule(at: instant, action)
    }
    /// As the base does.
    package func pause(_ duration: Duration) { base.pause(duration) }
}
