package import BackendRuntime
import Synchronization

/// A clock that a test advances. Due actions run inside ``advance(to:)``.
///
/// Its dates begin in 1970. Unlike this clock, ``LocalDataTesting/TestClock`` changes only the date.
package final class ManualClock: RuntimeClock {
    /// When scheduled actions run.
    package enum Timers: Sendable {
        /// When the test advances the clock past them.
        case byHand
        /// After as much real time, independent of the test, so that a deadline ends a test that hangs.
        /// Dates are those of the machine.
        case inRealTime
    }

    private struct State {
        var now: MonotonicInstant
        var actions: [Int: (instant: MonotonicInstant, action: @Sendable () -> Void)] = [:]
        var scheduledEver = 0
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>
    private let timers: Timers
    private let onPause: @Sendable (Duration) -> Void

    /// Creates a clock.
    /// - Parameter onPause: Called when code under test pauses, after the clock has advanced.
    package init(_ timers: Timers = .byHand, onPause: @escaping @Sendable (Duration) -> Void = { _ in }) {
        state = Mutex(State(now: timers == .byHand ? MonotonicInstant(nanoseconds: 0) : SystemClock().now))
        (self.timers, self.onPause) = (timers, onPause)
    }

    package var now: MonotonicInstant { state.withLock { $0.now } }
    package var wallSeconds: Double { timers == .byHand ? Double(now.nanoseconds) / 1e9 : SystemClock().wallSeconds }
    package var sinceBoot: Duration { .nanoseconds(now.nanoseconds) }

    /// The number of actions that wait for their instant.
    package var pending: Int { state.withLock { $0.actions.count } }

    /// The number of actions that were scheduled since the clock was created.
    package var scheduled: Int { state.withLock { $0.scheduledEver } }

    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        if timers == .inRealTime { return SystemClock().schedule(at: SystemClock().now.advanced(by: now.duration(to: instant)), action) }
        let (number, isDue, ready) = state.withLock { state in
            state.scheduledEver += 1
            let isDue = instant <= state.now
            if !isDue { state.actions[state.scheduledEver] = (instant, action) }
            let ready = state.waiting.filter { $0.count <= state.scheduledEver }
            state.waiting.removeAll { $0.count <= state.scheduledEver }
            return (state.scheduledEver, isDue, ready)
        }
        if isDue { action() }
        for waiter in ready { waiter.continuation.resume() }
        return ScheduledAction { [weak self] in self?.state.withLock { $0.actions[number] = nil } }
    }

    /// Advances the clock instead of waiting.
    package func pause(_ duration: Duration) {
        advance(by: duration)
        onPause(duration)
    }

    /// Advances the clock by a duration.
    package func advance(by duration: Duration) { advance(to: now.advanced(by: duration)) }

    /// Advances the clock, and runs the due actions in the order of their instants.
    package func advance(to instant: MonotonicInstant) {
        let due = state.withLock { state in
            state.now = max(state.now, instant)
            let due = state.actions.filter { $0.value.instant <= state.now }.sorted { $0.value.instant < $1.value.instant }
            for (number, _) in due { state.actions[number] = nil }
            return due.map(\.value.action)
        }
        for action in due { action() }
    }

    /// Advances the clock second by second while some work runs.
    package func passing<R: Sendable>(during work: @escaping @Sendable () async throws -> R) async throws -> R {
        let isOver = Shared(false)
        return try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask {
                defer { isOver.value.withLock { $0 = true } }
                return try await work()
            }
            group.addTask { [self] in
                while !isOver.value.withLock(\.self) {
                    advance(by: .seconds(1))
                    try await Task.sleep(for: .milliseconds(1))
                }
                return nil
            }
            var result: R?
            while let next = try await group.next() { result = next ?? result }
            guard let result else { throw CancellationError() }
            return result
        }
    }

    /// Waits until a number of actions have been scheduled since the clock was created.
    package func untilScheduled(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.scheduledEver >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

extension MonotonicInstant {
    package static func seconds(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
