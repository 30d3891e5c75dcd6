import Foundation

/// Separate threads for long computations. On a thread of Swift's cooperative pool they would block every task of the
/// process.
enum Threads {
    /// Runs work on several threads at a time, and returns when all have ended.
    static func run(_ count: Int, _ work: @escaping @Sendable () -> Void) {
        let all = DispatchGroup()
        for _ in 0..<count {
            all.enter()
            Thread.detachNewThread {
                work()
                all.leave()
            }
        }
        all.wait()
    }

    /// Runs work on a new thread, and waits for it without blocking the thread of the calling task.
    static func aside<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in Thread.detachNewThread { continuation.resume(returning: work()) } }
    }
}
