import BackendRuntime
import Synchronization

/// A clock that only a test moves on. A pause moves it on instead of waiting, and may do something of the test's in the meantime; deadlines
/// that were set end in real time, so that a test cannot hang.
final class MovableClock: RuntimeClock {
    private let real = SystemClock()
    private let begin = SystemClock().now
    private let offset = Mutex(Duration.zero)
    private let onPause: @Sendable (Duration) -> Void

    init(onPause: @escaping @Sendable (Duration) -> Void = { _ in }) { self.onPause = onPause }

    var now: MonotonicInstant { begin.advanced(by: offset.withLock { $0 }) }
    var wallSeconds: Double { real.wallSeconds }
    func advance(_ duration: Duration) { offset.withLock { $0 += duration } }

    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        real.schedule(at: real.now.advanced(by: now.duration(to: instant)), action)
    }

    func pause(_ duration: Duration) {
        advance(duration)
        onPause(duration)
    }
}
