package import BackendContract
import Synchronization

/// Why a caller stopped waiting for its call.
package enum AbandonReason: Hashable, Sendable {
    /// Its deadline passed.
    case deadline
    /// Its task was cancelled.
    case cancellation
}

/// One call that waits for work on a lane: begun or not, finished or abandoned, and resumed exactly once.
///
/// The deadline is for waiting, and not for work that goes on: a call whose work reports progress is left only once it has reported none for as long as the call may wait.
///
/// The caller leaves on time even if the lane is stuck. A call that was abandoned before it began is never begun; one that was abandoned
/// afterwards goes on, and its caller is told that the outcome is unknown.
package final class LaneCall<Response: Sendable>: Sendable {
    private enum Phase {
        case waiting
        case begun
        case over
    }

    private struct State {
        var phase = Phase.waiting
        /// Set to nil once the caller takes it: a timer keeps a reference to the call until it fires, and a result may be a secret.
        var result: Result<Response, BackendError>?
        var continuation: CheckedContinuation<Result<Response, BackendError>, Never>?
        var timer: ScheduledAction?
        var whenAbandoned: (@Sendable (AbandonReason) -> Void)?
        /// Why the caller left before the end.
        var abandoned: AbandonReason?
        /// When the caller leaves, if there is no further progress.
        var deadline: MonotonicInstant

        /// Ends the call, once. Returns what the caller of this method must resume and cancel outside the lock.
        mutating func end(_ result: Result<Response, BackendError>) -> Ending {
            defer { (continuation, timer, whenAbandoned) = (nil, nil, nil) }
            phase = .over
            if continuation == nil { self.result = result }
            return Ending(result: result, continuation: continuation, timer: timer)
        }
    }

    private struct Ending {
        let result: Result<Response, BackendError>
        let continuation: CheckedContinuation<Result<Response, BackendError>, Never>?
        let timer: ScheduledAction?

        func tell() {
            timer?.cancel()
            continuation?.resume(returning: result)
        }
    }

    private let state: Mutex<State>
    private let clock: any RuntimeClock

    /// When the caller leaves if the work does not report progress.
    package let deadline: MonotonicInstant
    /// How long the call may wait, from its beginning and from each sign of progress.
    private let patience: Duration
    private let isMutation: Bool

    init(clock: any RuntimeClock, deadline: MonotonicInstant, isMutation: Bool) {
        state = Mutex(State(deadline: deadline))
        patience = clock.now.duration(to: deadline)
        self.clock = clock
        self.deadline = deadline
        self.isMutation = isMutation
    }

    /// Whether no caller waits for the call any more.
    package var isOver: Bool { state.withLock { $0.phase == .over } }

    /// Marks the call as begun. Returns false if its caller has left: then the work must not be done.
    package func begin() -> Bool {
        state.withLock { state in
            guard state.phase == .waiting else { return false }
            state.phase = .begun
            return true
        }
    }

    /// Reports that the work goes on: its caller stays for as long as it would have waited for it to begin.
    package func progressed() {
        let latest = clock.now.advanced(by: patience)
        state.withLock { $0.deadline = max($0.deadline, latest) }
    }

    /// Sets the action to run if the caller leaves while the work runs. Runs it at once if the caller has already left.
    package func whenAbandoned(_ action: @escaping @Sendable (AbandonReason) -> Void) {
        let left = state.withLock { state in
            if state.phase != .over { state.whenAbandoned = action }
            return state.abandoned
        }
        if let left { action(left) }
    }

    /// Ends the call with its result, unless its caller has left.
    package func finish(_ result: Result<Response, BackendError>) {
        state.withLock { state in state.phase == .over ? nil : state.end(result) }?.tell()
    }

    private func abandon(_ reason: AbandonReason) {
        // Whether the work has begun is read in the same step that ends the call: a call that begins later finds it over.
        let (ending, action) = state.withLock { state -> (Ending?, (@Sendable (AbandonReason) -> Void)?) in
            guard state.phase != .over else { return (nil, nil) }
            let action = state.whenAbandoned
            state.abandoned = reason
            return (state.end(.failure(error(of: reason, hasBegun: state.phase == .begun))), action)
        }
        ending?.tell()
        action?(reason)
    }

    /// The caller leaves, or waits on if there was progress.
    private func deadlineCame() {
        let later = state.withLock { state in state.phase == .begun && state.deadline > clock.now ? state.deadline : nil }
        guard let later else { return abandon(.deadline) }
        let timer = clock.schedule(at: later) { self.deadlineCame() }
        let isOver = state.withLock { state in
            if state.phase != .over { state.timer = timer }
            return state.phase == .over
        }
        if isOver { timer.cancel() }
    }

    private func error(of reason: AbandonReason, hasBegun: Bool) -> BackendError {
        let outcome: MutationOutcome = hasBegun && isMutation ? .unknown : .notApplied
        let advice = outcome == .unknown ? "It may still take effect: read before repeating it." : "Nothing was changed; try again."
        return switch reason {
        case .deadline: BackendError(.timedOut, "The store did not answer before the deadline. \(advice)", outcome: outcome)
        case .cancellation: BackendError(.cancelled, "The caller was cancelled. \(advice)", outcome: outcome)
        }
    }

    /// Waits for the end: the result, the deadline or the cancellation of the calling task, whichever is first.
    func wait() async throws(BackendError) -> Response {
        let timer = clock.schedule(at: deadline) { self.deadlineCame() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Result<Response, BackendError>? in
                    if let result = state.result {
                        state.result = nil
                        return result
                    }
                    state.continuation = continuation
                    state.timer = timer
                    return nil
                }
                if let early {
                    timer.cancel()
                    continuation.resume(returning: early)
                }
            }
        } onCancel: {
            abandon(.cancellation)
        }
        return try result.get()
    }
}

extension Runtime {
    /// Runs work in a task, which may never answer, and waits for it until a deadline. It blocks no lane. The task is cancelled when the caller leaves.
    /// - Parameters:
    ///   - deadline: When the caller leaves.
    ///   - work: The work, in a task of its own.
    /// - Throws: What the work threw; `timedOut` or `cancelled` when the caller left.
    package func run<Response: Sendable>(
        until deadline: MonotonicInstant, _ work: @escaping @Sendable () async throws(BackendError) -> Response
    ) async throws(BackendError) -> Response {
        let call = LaneCall<Response>(clock: clock, deadline: deadline, isMutation: false)
        let task = tasks.spawn {
            do throws(BackendError) {
                call.finish(.success(try await work()))
            } catch {
                call.finish(.failure(error))
            }
        }
        call.whenAbandoned { _ in task.cancel() }
        return try await call.wait()
    }
}

extension Lane {
    /// Runs blocking work on the lane and waits for it until a deadline.
    /// - Parameters:
    ///   - clock: The clock of the deadline.
    ///   - deadline: When the caller leaves; counts the time in the line and the time of the work.
    ///   - isMutation: Whether the work changes anything, so that leaving while it runs makes the outcome unknown.
    ///   - work: The work. It is given its call, to learn the deadline and to hear of the caller's leaving.
    /// - Throws: What the work threw; `timedOut` or `cancelled` when the caller left.
    package func run<Response: Sendable>(
        clock: any RuntimeClock, deadline: MonotonicInstant, isMutation: Bool,
        _ work: @escaping @Sendable (LaneCall<Response>) throws(BackendError) -> Response
    ) async throws(BackendError) -> Response {
        let call = LaneCall<Response>(clock: clock, deadline: deadline, isMutation: isMutation)
        enqueue {
            guard call.begin() else { return }
            do throws(BackendError) {
                call.finish(.success(try work(call)))
            } catch {
                call.finish(.failure(error))
            }
        }
        return try await call.wait()
    }
}
