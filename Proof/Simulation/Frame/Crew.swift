import Synchronization

/// Waits for the callers of a round, that is, of a group of programs that run at the same time. The wait ends when each
/// caller has returned, or its process has ended.
final class Crew: Sendable {
    private struct State {
        var open = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    /// The handle with which one caller reports that it has returned.
    final class Hand: Sendable {
        private let isHere = Mutex(true)
        private let crew: Crew
        init(_ crew: Crew) { self.crew = crew }
        func leave() { if isHere.withLock({ if $0 { $0 = false; return true } else { return false } }) { crew.left() } }
    }

    private let state = Mutex(State())

    func sign(_ process: SimulatedProcess) -> Hand {
        state.withLock { $0.open += 1 }
        let hand = Hand(self)
        process.whenOver { hand.leave() }
        return hand
    }

    private func left() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.open -= 1
            guard state.open == 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.open > 0 { state.waiter = continuation }
                return state.open == 0
            }
            if isOver { continuation.resume() }
        }
    }
}
