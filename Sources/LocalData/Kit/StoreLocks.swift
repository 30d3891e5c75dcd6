import BackendContract
import BackendRuntime

/// The locks of several stores, held together. They are taken in the order of their paths' bytes, so that two processes that take several never
/// wait for each other.
final class StoreLocks {
    private let locks: [any FileLock]

    /// Takes the locks.
    /// - Parameters:
    ///   - paths: The lock files, in any order.
    ///   - deadline: When to give up, for all of them.
    /// - Throws: ``BackendError`` with `timedOut`; no lock is held then.
    init(_ paths: Set<String>, deadline: MonotonicInstant, runtime: Runtime) async throws(BackendError) {
        let sorted = paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let call = LockTaking(sorted, deadline, runtime)
        locks = try await runtime.makeLane("backup.locks").run(clock: runtime.clock, deadline: deadline, isMutation: false) {
            (lane) throws(BackendError) in try call.take { lane.isOver }
        }
    }

    deinit { release() }

    /// Releases the locks; a second call does nothing.
    func release() { for lock in locks.reversed() { lock.release() } }
}

private struct LockTaking: Sendable {
    let paths: [String]
    let deadline: MonotonicInstant
    let runtime: Runtime

    init(_ paths: [String], _ deadline: MonotonicInstant, _ runtime: Runtime) {
        (self.paths, self.deadline, self.runtime) = (paths, deadline, runtime)
    }

    func take(isOver: @escaping @Sendable () -> Bool) throws(BackendError) -> [any FileLock] {
        var locks: [any FileLock] = []
        do throws(FileError) {
            for path in paths {
                try runtime.files.createDirectory(parentDirectory(of: path))
                locks.append(try runtime.files.lock(path) { [runtime, deadline] in runtime.clock.now >= deadline || isOver() })
            }
        } catch {
            for lock in locks.reversed() { lock.release() }
            throw error.backendError()
        }
        return locks
    }
}
