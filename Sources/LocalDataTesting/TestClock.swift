package import BackendRuntime
public import LocalData
import Synchronization

/// A clock for tests of values that expire. The test sets its date; deadlines of operations still follow the real time.
///
/// ```swift
/// let clock = TestClock()
/// let storage = TestMachine { $0.use(clock) }.launch()
/// try await storage.set("123456", for: .city, lifetime: .seconds(60))
/// clock.advance(by: .seconds(61))
/// #expect(try await storage.value(for: .city) == nil)
/// ```
public final class TestClock: Sendable {
    /// The clock that a configuration uses instead of the system's clock.
    package let shifted: ShiftedClock

    /// Creates a clock that shows the current date.
    public init() { shifted = ShiftedClock(SystemClock()) }

    /// Moves the date, as if the user had changed the system clock. The time since boot does not change.
    ///
    /// ```swift
    /// let clock = TestClock()
    /// let storage = TestMachine { $0.use(clock) }.launch()
    /// try await storage.set("123456", for: .city, lifetime: .seconds(60))
    /// clock.advance(by: .seconds(61))
    /// #expect(try await storage.value(for: .city) == nil)
    /// ```
    /// - Parameter duration: The duration to add; a negative one moves the date back.
    public func advance(by duration: Duration) { shifted.advance(by: duration) }

    /// Lets time pass: moves both the date and the time since boot.
    ///
    /// A sweep purges an expired value one day after an earlier sweep found it expired:
    ///
    /// ```swift
    /// await storage.sweep()  // finds the expired value
    /// clock.pass(.seconds(86_400))
    /// await storage.sweep()  // purges it
    /// ```
    /// - Parameter duration: The duration to add.
    public func pass(_ duration: Duration) { shifted.pass(duration) }
}

extension StorageConfiguration {
    /// Makes routers with this configuration take the date from a test clock.
    ///
    /// ```swift
    /// var configuration = StorageConfiguration.inMemory()
    /// configuration.use(clock)
    /// let storage = StorageRouter(configuration: configuration)
    /// ```
    public mutating func use(_ clock: TestClock) { runtime.clock = clock.shifted }
}

/// A clock that follows another clock, with a shifted date and time since boot.
package final class ShiftedClock: RuntimeClock {
    private let base: any RuntimeClock
    private let shift = Mutex((date: 0.0, boot: Duration.zero))

    /// Creates a clock without a shift.
    /// - Parameter base: The clock to follow.
    init(_ base: any RuntimeClock) { self.base = base }

    /// Moves the date. The time since boot does not change.
    func advance(by duration: Duration) { shift.withLock { $0.date += duration / .seconds(1) } }

    /// Moves the date and the time since boot.
    func pass(_ duration: Duration) {
        advance(by: duration)
        shift.withLock { $0.boot += duration }
    }

    /// The monotonic time of the base clock, without a shift.
    package var now: MonotonicInstant { base.now }
    /// The date of the base clock plus the shift, in seconds.
    package var wallSeconds: Double { base.wallSeconds + shift.withLock(\.date) }
    /// The base clock's time since boot, plus the shift.
    package var sinceBoot: Duration { base.sinceBoot + shift.withLock(\.boot) }
    /// Schedules an action on the base clock. The shift does not affect it.
    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        base.schedule(at: instant, action)
    }
    /// Pauses on the base clock. The shift does not affect it.
    package func pause(_ duration: Duration) { base.pause(duration) }
}
