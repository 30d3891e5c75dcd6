import BackendContract
import BackendRuntime
import LocalData

/// The locks of several stores, held together: first those of the folder of locks, then those beside the stores, as a single writer takes them,
/// and each kind in the order of the paths' bytes. So two processes that take several never wait for each other.
final class StoreLocks {
    private let locks: [any FileLock]

    /// Takes the locks.
    /// - Parameters:
    ///   - stores: The stores, in any order.
    ///   - deadline: When to give up, for all of them.
    /// - Throws: `BackendError` with `timedOut`; no lock is held then.
    init(_ stores: [any BackupStore], deadline: MonotonicInstant, runtime: Runtime) async throws(BackendError) {
        func sorted(_ paths: [String]) -> [String] { Set(paths).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
        let call = LockTaking(
            paths: sorted(stores.compactMap(\.backupLock)), neighbors: sorted(stores.compactMap(\.neighborLock)), deadline: deadline,
            runtime: runtime)
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
    let neighbors: [String]
    let deadline: MonotonicInstant
    let runtime: Runtime

    func take(isOver: @escaping @Sendable () -> Bool) throws(BackendError) -> [any FileLock] {
        var locks: [any FileLock] = []
        do throws(FileError) {
            let giveUp: @Sendable () -> Bool = { [runtime, deadline] in runtime.clock.now >= deadline || isOver() }
            for path in paths {
                try runtime.files.createDirectory(parentDirectory(of: path))
                locks.append(try runtime.files.lock(path, giveUp: giveUp))
            }
            // Skip stores whose folder is missing: nobody writes to them.
            for path in neighbors where try runtime.files.status(parentDirectory(of: path)) != nil {
                locks.append(try runtime.files.lock(path, giveUp: giveUp))
            }
        } catch {
            for lock in locks.reversed() { lock.release() }
            throw error.backendError()
        }
        return locks
    }
}
