import Dispatch

/// Runs a task on a separate thread. On Linux, the tasks of a process and `DispatchQueue.global()` share a few threads. If calls block
/// all of them, the tasks that would end these calls do not run.
package final class SeparateThread: TaskExecutor {
    // A serial queue gets a thread even if the shared ones are blocked.
    private let queue: DispatchQueue

    /// - Parameter name: The name of the thread, for a debugger.
    package init(_ name: String) { queue = DispatchQueue(label: name) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
