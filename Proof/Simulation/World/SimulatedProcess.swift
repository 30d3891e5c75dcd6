import BackendContract
import Synchronization

/// One process of a simulated machine: whether it has ended, and which of its tasks wait for a store.
package final class SimulatedProcess: Sendable {
    private struct State {
        var isOver = false
        var isReleased = false
        var whenOver: [@Sendable () -> Void] = []
        /// Tasks that wait for an answer of a store. A process that has ended never gets it.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    package let name: String

    package init(_ name: String) { self.name = name }

    /// Ends the process at once: its later calls reach no store, and no caller gets an answer.
    package func end() {
        let actions = state.withLock { state in
            defer { state.whenOver = [] }
            state.isOver = true
            return state.whenOver
        }
        for action in actions { action() }
    }

    /// Ends the process and resumes its tasks, so that they free their memory. From now on each call of a store
    /// throws at once, so callers get errors.
    ///
    /// Call this only after the run was checked for broken rules, because the errors are no part of the run. Afterwards
    /// call ``Simulation/unwind(limit:)``, which takes the steps of the resumed tasks until none is left.
    package func release() {
        end()
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isReleased = true
            return state.waiting
        }
        for task in waiting { task.resume() }
    }

    package var hasEnded: Bool { state.withLock(\.isOver) }

    /// The error of each call of a store after the process has ended.
    static let ended = BackendError(.failed, "The process has ended.")

    /// Throws if the process was released, so that no further call starts.
    func checkIsKept() throws(BackendError) { if state.withLock(\.isReleased) { throw Self.ended } }

    /// Registers an action that runs when the process ends.
    func whenOver(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.whenOver.append(action) } }

    /// Returns at once while the process runs. After its end, waits until the process is released, and throws.
    func goOn() async throws(BackendError) {
        guard hasEnded else { return }
        await withCheckedContinuation { continuation in
            let isReleased = state.withLock { state in
                if !state.isReleased { state.waiting.append(continuation) }
                return state.isReleased
            }
            if isReleased { continuation.resume() }
        }
        throw Self.ended
    }
}
