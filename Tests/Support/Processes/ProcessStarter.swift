import Foundation
import Synchronization

/// Starts processes from one thread that never ends.
/// Reason: "Tests start processes through `setpriv`" in Docs/Decisions/Tests.md.
final class ProcessStarter: Sendable {
    static let shared = ProcessStarter()

    private let jobs = Mutex<[@Sendable () -> Void]>([])
    private let count = DispatchSemaphore(value: 0)

    private init() {
        Thread.detachNewThread { [self] in
            // The threads of dispatch queues block most signals, and programs inherit that.
            // gdb would then wait for its child for ever.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            while true {
                count.wait()
                jobs.withLock { $0.removeFirst() }()
            }
        }
    }

    /// Starts a process.
    func start(_ process: Process) throws {
        let outcome = Shared<Result<Void, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        jobs.withLock {
            $0.append {
                let result = Result { try process.run() }
                outcome.value.withLock { $0 = result }
                done.signal()
            }
        }
        count.signal()
        done.wait()
        try outcome.value.withLock(\.self)?.get()
    }
}
