import Foundation

/// Threads that belong to nobody's pool. What computes for a long time takes them: on a thread of the pool that tasks share, it would hold up every task of the process.
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

    /// Runs work on a thread of its own, and waits for it without holding up a task's.
    static func aside<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in Thread.detachNewThread { continuation.resume(returning: work()) } }
    }
}
