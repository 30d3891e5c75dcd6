import BackendRuntime
import Synchronization

/// A lane that counts what is handed to it.
final class CountedLane: Lane {
    private let lane = DispatchLane(label: "counted")
    private let hops = Mutex(0)

    var count: Int { hops.withLock { $0 } }

    func enqueue(_ work: @escaping @Sendable () -> Void) {
        hops.withLock { $0 += 1 }
        lane.enqueue(work)
    }
}

/// A lane that holds everything back until it is opened.
final class GatedLane: Lane {
    private struct State {
        var isOpen = false
        var held: [@Sendable () -> Void] = []
        var waiting: (count: Int, CheckedContinuation<Void, Never>)?
    }

    private let lane = DispatchLane(label: "gated")
    private let state = Mutex(State())

    func enqueue(_ work: @escaping @Sendable () -> Void) {
        let (isOpen, ready) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            if state.isOpen { return (true, nil) }
            state.held.append(work)
            guard let (count, continuation) = state.waiting, state.held.count >= count else { return (false, nil) }
            state.waiting = nil
            return (false, continuation)
        }
        if isOpen { lane.enqueue(work) }
        ready?.resume()
    }

    /// Opens it once so much work is held back.
    func open(whenWaiting count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.held.count >= count { return true }
                state.waiting = (count, continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for work in held { lane.enqueue(work) }
    }
}
