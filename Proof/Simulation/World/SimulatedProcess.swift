import Synchronization

/// What goes on in a process of a simulated machine, until it ends.
package final class SimulatedProcess: Sendable {
    private struct State {
        var isOver = false
        var whenOver: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    package let name: String

    package init(_ name: String) { self.name = name }

    /// Ends the process where it is: what it does from now on reaches no store, and nobody is answered.
    package func end() {
        let actions = state.withLock { state in
            defer { state.whenOver = [] }
            state.isOver = true
            return state.whenOver
        }
        for action in actions { action() }
    }

    package var hasEnded: Bool { state.withLock(\.isOver) }

    /// Does something when the process ends.
    func whenOver(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.whenOver.append(action) } }

    /// Goes on, or never does.
    func goOn() async {
        guard hasEnded else { return }
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}
