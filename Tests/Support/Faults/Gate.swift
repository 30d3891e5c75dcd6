import Dispatch
import Synchronization

/// Holds callers until a test opens the gate, and counts the callers that have arrived.
package final class Gate: Sendable {
    private struct State {
        var isOpen: Bool
        var arrivals = 0
        var held: [@Sendable () -> Void] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// Creates a gate. A gate that starts open only counts.
    package init(isOpen: Bool = false) { state = Mutex(State(isOpen: isOpen)) }

    /// Waits until the gate is open.
    package func pass() async { await withCheckedContinuation { continuation in arrive { continuation.resume() } } }

    /// Blocks this thread until the gate is open. For work on a lane, which may block.
    package func block() {
        let opened = DispatchSemaphore(value: 0)
        arrive { opened.signal() }
        opened.wait()
    }

    private func arrive(_ proceed: @escaping @Sendable () -> Void) {
        let (isOpen, ready) = state.withLock { state in
            state.arrivals += 1
            if !state.isOpen { state.held.append(proceed) }
            let count = state.arrivals
            let ready = state.waiting.filter { $0.count <= count }
            state.waiting.removeAll { $0.count <= count }
            return (state.isOpen, ready)
        }
        if isOpen { proceed() }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// The number of callers that have arrived.
    package var arrivals: Int { state.withLock(\.arrivals) }

    /// Waits until a number of callers have arrived.
    package func arrived(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.arrivals >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    /// Opens the gate, and releases every caller that waits.
    package func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for proceed in held { proceed() }
    }
}
