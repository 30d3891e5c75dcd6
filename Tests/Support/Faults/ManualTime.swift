package import BackendRuntime
import Synchronization

/// A clock that a test moves by hand. What is due runs inside ``advance(to:)``.
package final class ManualClock: RuntimeClock {
    private struct State {
        var now = MonotonicInstant(nanoseconds: 0)
        var actions: [Int: (instant: MonotonicInstant, action: @Sendable () -> Void)] = [:]
        var scheduledEver = 0
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var now: MonotonicInstant { state.withLock { $0.now } }
    package var wallSeconds: Double { Double(now.nanoseconds) / 1e9 }

    /// How many actions are waiting for their instant.
    package var pending: Int { state.withLock { $0.actions.count } }

    /// How many actions were scheduled since the clock was made.
    package var scheduled: Int { state.withLock { $0.scheduledEver } }

    package func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
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

    package func pause(_ duration: Duration) { advance(to: now.advanced(by: duration)) }

    /// Moves the clock, running what becomes due in the order of its instants.
    package func advance(to instant: MonotonicInstant) {
        let due = state.withLock { state in
            state.now = max(state.now, instant)
            let due = state.actions.filter { $0.value.instant <= state.now }.sorted { $0.value.instant < $1.value.instant }
            for (number, _) in due { state.actions[number] = nil }
            return due.map(\.value.action)
        }
        for action in due { action() }
    }

    /// Returns once a number of actions were scheduled since the clock was made.
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

/// A lane whose work runs when a test says so.
package final class ManualLane: Lane {
    private let work = Mutex<[@Sendable () -> Void]>([])

    package init() {}

    package var count: Int { work.withLock { $0.count } }

    package func enqueue(_ piece: @escaping @Sendable () -> Void) { work.withLock { $0.append(piece) } }

    /// Runs the next piece of work; false when there is none.
    @discardableResult
    package func runNext() -> Bool {
        guard let next = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        next()
        return true
    }

    package func runAll() { while runNext() {} }
}

extension MonotonicInstant {
    package static func seconds(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
}
