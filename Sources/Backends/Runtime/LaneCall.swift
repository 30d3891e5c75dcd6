package import BackendContract
import Synchronization

/// Why a caller stopped waiting for a call.
package enum AbandonReason: Hashable, Sendable {
    /// The deadline passed.
    case deadline
    /// The calling task was cancelled.
    case cancellation
}

/// A call of work that runs elsewhere, usually on a lane (a serial queue for blocking work), while the caller waits
/// until a deadline. A caller *leaves* when it stops waiting before the work has ended. The caller is resumed exactly
/// once.
///
/// The caller returns at its deadline even if the lane is stuck. Work that has not begun by that time never begins.
/// Work that has begun continues. If it changes anything, the caller that leaves gets an error with the outcome
/// `unknown`.
///
/// Work can report progress (``progressed()``), which moves the deadline. The caller leaves only if the work reported
/// no progress for the whole waiting time.
package class AnyLaneCall: @unchecked Sendable {
    private enum Phase {
        case waiting
        case begun
        case over
    }

    private struct State {
        var phase = Phase.waiting
        /// The error of the work, or of a caller that left before the work ended.
        var failure: BackendError?
        var continuation: CheckedContinuation<Void, Never>?
        var timer: ScheduledAction?
        var whenAbandoned: (@Sendable (AbandonReason) -> Void)?
        /// The reason why the caller left; nil if it did not leave.
        var abandoned: AbandonReason?
        /// The time at which the caller leaves unless the work reports more progress.
        var deadline: MonotonicInstant

        /// Ends the call, which must not have ended before. Returns a continuation and a timer. Once the lock is
        /// released, resume the continuation and cancel the timer.
        mutating func end() -> Ending {
            defer { (continuation, timer, whenAbandoned) = (nil, nil, nil) }
            phase = .over
            return Ending(continuation: continuation, timer: timer)
        }
    }

    private struct Ending {
        let continuation: CheckedContinuation<Void, Never>?
        let timer: ScheduledAction?

        func tell() {
            timer?.cancel()
            continuation?.resume()
        }
    }

    private let state: Mutex<State>
    private let clock: any RuntimeClock
    /// The time at which the caller leaves if the work reports no progress.
    package let deadline: MonotonicInstant
    /// How long the caller waits from the start of the call, and after each report of progress.
    private let patience: Duration
    private let isMutation: Bool

    init(clock: any RuntimeClock, deadline: MonotonicInstant, isMutation: Bool) {
        state = Mutex(State(deadline: deadline))
        patience = clock.now.duration(to: deadline)
        (self.clock, self.deadline, self.isMutation) = (clock, deadline, isMutation)
    }

    /// Whether the call has ended: it has a result, or its caller has left.
    package var isOver: Bool { state.withLock { $0.phase == .over } }

    /// Notes that the work begins. Returns false if the call has already ended; the work must not run then.
    package func begin() -> Bool {
        state.withLock { state in
            guard state.phase == .waiting else { return false }
            state.phase = .begun
            return true
        }
    }

    /// Reports progress. From now on, the caller waits as long as it would have waited at the start.
    /// Reason: "A deadline limits waiting, not work" in Docs/Decisions/LocksAndCommits.md.
    package func progressed() {
        let latest = clock.now.advanced(by: patience)
        state.withLock { $0.deadline = max($0.deadline, latest) }
    }

    /// Sets the action to run if the caller leaves before the work ends. If the caller has already left, the action
    /// runs at once.
    package func whenAbandoned(_ action: @escaping @Sendable (AbandonReason) -> Void) {
        let left = state.withLock { state in
            if state.phase != .over { state.whenAbandoned = action }
            return state.abandoned
        }
        if let left { action(left) }
    }

    /// Ends the call with an error. Does nothing if the caller has already left.
    package func fail(_ error: BackendError) { end(error) {} }

    /// Ends the call. Does nothing if the caller has already left.
    /// - Parameters:
    ///   - failure: The error of the work; nil if it has a response.
    ///   - setResponse: Called under the lock before the caller is resumed.
    fileprivate func end(_ failure: BackendError?, _ setResponse: () -> Void) {
        let ending = state.withLock { state -> Ending? in
            guard state.phase != .over else { return nil }
            state.failure = failure
            setResponse()
            return state.end()
        }
        ending?.tell()
    }

    private func abandon(_ reason: AbandonReason) {
        // Read the phase and end the call under one lock. Otherwise the work could begin in between, and the outcome
        // would be wrong.
        let (ending, action) = state.withLock { state -> (Ending?, (@Sendable (AbandonReason) -> Void)?) in
            guard state.phase != .over else { return (nil, nil) }
            let action = state.whenAbandoned
            state.abandoned = reason
            state.failure = error(of: reason, hasBegun: state.phase == .begun)
            return (state.end(), action)
        }
        ending?.tell()
        action?(reason)
    }

    /// Ends the call because its deadline has passed. If the work has reported progress, schedules another timer
    /// instead.
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

    /// Waits until the call has ended. Returns its error, also if the deadline or the cancellation of the calling task came first.
    fileprivate func waitForEnd() async -> BackendError? {
        let timer = clock.schedule(at: deadline) { self.deadlineCame() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.phase != .over { (state.continuation, state.timer) = (continuation, timer) }
                    return state.phase == .over
                }
                if isOver {
                    timer.cancel()
                    continuation.resume()
                }
            }
        } onCancel: {
            abandon(.cancellation)
        }
        return state.withLock { $0.failure }
    }
}

/// A call whose work has a response. ``AnyLaneCall`` does everything that does not depend on the type of the response, because generic code
/// is slow.
package final class LaneCall<Response: Sendable>: AnyLaneCall, @unchecked Sendable {
    /// The response. It is set under the lock, and the caller takes it after it was resumed: a timer keeps a reference to the call until the
    /// timer fires, and a response may be a secret.
    private var response: Response?

    /// Ends the call with a response. Does nothing if the caller has already left.
    package func succeed(_ response: Response) { end(nil) { self.response = response } }

    /// Waits for the result, the deadline or the cancellation of the calling task, whichever is first.
    func wait() async throws(BackendError) -> Response {
        if let failure = await waitForEnd() { throw failure }
        guard let response else { preconditionFailure("A call that has ended has a response or an error.") }
        self.response = nil
        return response
    }
}

extension Runtime {
    /// Runs asynchronous work in a separate task and waits for it until a deadline. The work blocks no lane, so even
    /// work that never ends delays no other call. If the caller leaves first, the task is cancelled.
    /// - Parameters:
    ///   - deadline: The time at which the caller leaves.
    ///   - work: The work.
    /// - Throws: The error of the work; `timedOut` or `cancelled` if the caller left first.
    package func run<Response: Sendable>(
        until deadline: MonotonicInstant, _ work: @escaping @Sendable () async throws(BackendError) -> Response
    ) async throws(BackendError) -> Response {
        let call = LaneCall<Response>(clock: clock, deadline: deadline, isMutation: false)
        let task = tasks.spawn {
            do throws(BackendError) {
                call.succeed(try await work())
            } catch {
                call.fail(error)
            }
        }
        call.whenAbandoned { _ in task.cancel() }
        return try await call.wait()
    }
}

extension Runtime {
    /// Runs blocking work on a new lane, and waits for it at most for a limit.
    /// - Parameters:
    ///   - name: The name of the lane in debuggers.
    ///   - isMutation: Whether the work changes anything, as in ``Lane/run(clock:deadline:isMutation:_:)``.
    package func onLane<R: Sendable>(
        _ name: String, within limit: Duration, isMutation: Bool = false, _ work: @escaping @Sendable () throws(BackendError) -> R
    ) async throws(BackendError) -> R {
        let deadline = clock.now.advanced(by: limit)
        return try await makeLane(name).run(clock: clock, deadline: deadline, isMutation: isMutation) { (_) throws(BackendError) in
            try work()
        }
    }

    /// Runs the watch of a stream of changes until the watch ends or the stream is released.
    /// - Parameters:
    ///   - whenReleased: Called when the stream is released.
    ///   - watch: Watches, and yields the changes.
    package func feed<Element: Sendable>(
        _ changes: AsyncStream<Element>.Continuation, whenReleased: @escaping @Sendable () -> Void = {},
        _ watch: @escaping @Sendable () async -> Void
    ) {
        let (stop, stopContinuation) = AsyncStream.makeStream(of: Never.self)
        changes.onTermination = { _ in
            whenReleased()
            stopContinuation.finish()
        }
        tasks.spawn {
            await withTaskGroup { group in
                group.addTask {
                    await watch()
                    // The watch could not begin, or the stream was released.
                    changes.finish()
                }
                group.addTask { for await _ in stop {} }
                await group.next()
                group.cancelAll()
            }
        }
    }
}

/// A lane for work on files, with a time limit for each call.
package struct FileLane: Sendable {
    package let runtime: Runtime
    private let lane: any Lane
    private let limit: Duration

    /// Creates the lane; nothing is opened.
    /// - Parameters:
    ///   - name: The name of the lane in debuggers.
    ///   - limit: How long a call may take.
    ///   - runtime: The clock, the files and the lanes.
    package init(_ name: String, within limit: Duration, _ runtime: Runtime) {
        (self.runtime, self.limit, lane) = (runtime, limit, runtime.makeLane(name))
    }

    /// Runs work on files and waits for it. A failure becomes a backend error with the outcome `notApplied`.
    /// - Parameter isMutation: Whether the work changes anything, as in ``Lane/run(clock:deadline:isMutation:_:)``.
    package func run<R: Sendable>(
        isMutation: Bool, _ work: @escaping @Sendable (any FileSystem) throws(FileError) -> R
    ) async throws(BackendError) -> R {
        let files = runtime.files
        return try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: limit), isMutation: isMutation) {
            (_) throws(BackendError) in
            do throws(FileError) { return try work(files) } catch { throw error.backendError() }
        }
    }
}

extension Lane {
    /// Runs blocking work on the lane and waits for it until a deadline.
    /// - Parameters:
    ///   - clock: The clock of the deadline.
    ///   - deadline: The time at which the caller leaves. It covers the time in the queue and the time of the work.
    ///   - isMutation: Whether the work changes anything. If so, and if the caller leaves while the work runs, the
    ///     error has the outcome `unknown`.
    ///   - work: The work. Its argument is the call, which has the deadline and runs an action when the caller leaves
    ///     (``LaneCall/whenAbandoned(_:)``).
    /// - Throws: The error of the work; `timedOut` or `cancelled` if the caller left first.
    package func run<Response: Sendable>(
        clock: any RuntimeClock, deadline: MonotonicInstant, isMutation: Bool,
        _ work: @escaping @Sendable (LaneCall<Response>) throws(BackendError) -> Response
    ) async throws(BackendError) -> Response {
        let call = LaneCall<Response>(clock: clock, deadline: deadline, isMutation: isMutation)
        enqueue {
            guard call.begin() else { return }
            do throws(BackendError) {
                call.succeed(try work(call))
            } catch {
                call.fail(error)
            }
        }
        return try await call.wait()
    }
}
