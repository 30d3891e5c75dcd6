import Foundation
import Synchronization

/// Runs checks with a deadline, so that a dead bus or disk cannot stop `localdata doctor`.
enum TimedCheck {
    /// The number of seconds that a check may take.
    static let limit = 10

    /// Returns the finding for a check that did not end before the deadline.
    static func unfinished(_ name: String) -> Finding {
        .problem(name, "The check did not end within \(limit) seconds, because a disk or a program does not answer.")
    }

    /// Runs a check that blocks, on a separate thread.
    static func blocking(_ name: String, _ check: @escaping @Sendable () -> [Finding]) async -> [Finding] {
        await blocking(late: { [unfinished(name)] }, check)
    }

    /// Runs a check that blocks, on a separate thread.
    /// - Parameters:
    ///   - late: Returns the result if the check does not end before the deadline.
    ///   - check: The check.
    static func blocking<Answer: Sendable>(
        late: @escaping @Sendable () -> Answer, _ check: @escaping @Sendable () -> Answer
    ) async -> Answer {
        await withDeadline(late) { answer in Thread.detachNewThread { answer.give(check()) } }
    }

    /// Runs a check that waits for other tasks.
    /// - Parameters:
    ///   - late: Returns the result if the check does not end before the deadline.
    ///   - check: The check.
    static func waiting<Answer: Sendable>(
        late: @escaping @Sendable () -> Answer, _ check: @escaping @Sendable () async -> Answer
    ) async -> Answer {
        await withDeadline(late) { answer in Task.detached { answer.give(await check()) } }
    }

    private static func withDeadline<Answer: Sendable>(
        _ late: @escaping @Sendable () -> Answer, _ start: (FirstAnswer<Answer>) -> Void
    ) async -> Answer {
        await withCheckedContinuation { continuation in
            let answer = FirstAnswer(continuation)
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(limit)) { if answer.isAwaited { answer.give(late()) } }
            start(answer)
        }
    }
}

/// Resumes a task with the first of several answers.
private final class FirstAnswer<Answer: Sendable>: Sendable {
    private let waiting: Mutex<CheckedContinuation<Answer, Never>?>

    init(_ continuation: CheckedContinuation<Answer, Never>) { waiting = Mutex(continuation) }

    /// Whether no answer was given yet.
    var isAwaited: Bool { waiting.withLock { $0 != nil } }

    func give(_ answer: Answer) { waiting.withLock { $0.take() }?.resume(returning: answer) }
}
