import BackendRuntime
import Synchronization

/// A timer that runs an action once, at the earliest of the requested instants.
final class WakeTimer: Sendable {
    private struct State {
        var number: UInt64 = 0
        var due: MonotonicInstant?
        var action: ScheduledAction?
    }

    private let state = Mutex(State())
    private let clock: any RuntimeClock
    private let run: @Sendable () -> Void

    init(_ clock: any RuntimeClock, run: @escaping @Sendable () -> Void) { (self.clock, self.run) = (clock, run) }

    deinit { state.withLock { $0.action }?.cancel() }

    /// Requests that the action runs after a duration, or earlier.
    func request(after duration: Duration) {
        let instant = clock.now.advanced(by: duration)
        let number = state.withLock { state -> UInt64? in
            if let due = state.due, due <= instant { return nil }
            state.number += 1
            state.due = instant
            return state.number
        }
        guard let number else { return }
        let action = clock.schedule(at: instant) { [weak self] in self?.fire(number) }
        let outdated = state.withLock { state -> ScheduledAction? in
            // The action may have run already, or another call may have replaced it.
            guard state.number == number, state.due != nil else { return action }
            defer { state.action = action }
            return state.action
        }
        outdated?.cancel()
    }

    private func fire(_ number: UInt64) {
        let isCurrent = state.withLock { state in
            guard state.number == number else { return false }
            (state.due, state.action) = (nil, nil)
            return true
        }
        if isCurrent { run() }
    }
}
