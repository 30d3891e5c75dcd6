import BackendRuntime
import Synchronization

/// The wait of a task for a result. It ends once: with the first result, or when the task is cancelled.
final class Wait<Result: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Result, Never>?
        var timer: ScheduledAction?
        /// The result that arrived before the task began to wait.
        var early: Result?
        var isOver = false
    }

    private let state = Mutex(State())

    /// Ends the wait. Returns false if it had ended before.
    @discardableResult func end(_ result: Result) -> Bool {
        let state = state.withLock { state -> State? in
            if state.isOver { return nil }
            defer { state = State(early: result, isOver: true) }
            return state
        }
        state?.timer?.cancel()
        state?.continuation?.resume(returning: result)
        return state != nil
    }

    /// Cancels a timer when the wait ends.
    func limit(_ timer: ScheduledAction) {
        let isOver = state.withLock { state in
            state.timer = timer
            return state.isOver
        }
        if isOver { timer.cancel() }
    }

    /// Waits for the result. Only one task may wait.
    func result(ifCancelled result: Result) async -> Result {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state in
                    if !state.isOver { state.continuation = continuation }
                    return state.early
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            end(result)
        }
    }
}
