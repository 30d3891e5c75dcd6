public import BackendRuntime
public import LocalData
import Synchronization

/// A clock whose date a test moves by hand, while everything else keeps its own time: for values that expire.
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

    /// Creates a clock that shows the present.
    /// - Parameter base: The clock that it is shifted against.
    public init(_ base: any RuntimeClock = SystemClock()) { self.base = base }

    /// Moves the date.
    /// - Parameter duration: By how much; back, for a negative one.
    public func advance(by duration: Duration) {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        shift.withLock { $0 += seconds }
    }

    /// The base's own.
    public var now: MonotonicInstant { base.now }
    /// The base's date, moved.
    public var wallSeconds: Double { base.wallSeconds + shift.withLock(\.self) }
    /// As the base does.
    public func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        base.schedule(at: instant, action)
    }
    /// As the base does.
    public func pause(_ duration: Duration) { base.pause(duration) }
}

extension StorageConfiguration {
    /// Takes the date from a clock of the test's.
    public mutating func use(_ clock: TestClock) { runtime.clock = clock }
}
