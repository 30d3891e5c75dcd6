package import BackendContract
package import BackendRuntime
import Crypto

/// Holds the locks of several stores at the same time. It takes the locks in the lock folder first, and then the locks
/// beside the stores. A process that writes one store takes its two locks in the same order. Each group of locks is
/// sorted by the bytes of the paths, so two processes that take several locks cannot deadlock.
package final class StoreLocks {
    private let locks: [any FileLock]

    /// Takes the locks.
    /// - Parameters:
    ///   - stores: The stores, in any order.
    ///   - deadline: The deadline for taking all locks.
    /// - Throws: `BackendError` with `timedOut`; then no lock is held.
    package init(_ stores: [any BackupStore], deadline: MonotonicInstant, runtime: Runtime) async throws(BackendError) {
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
    package func release() { for lock in locks.reversed() { lock.release() } }
}

extension StorageDirectories {
    /// Returns the path of a lock for an operation on all stores of the program. All programs share the folder of locks, so the name of
    /// the lock is derived from the data folder.
    func lockPath(_ operation: String, _ files: any FileSystem) -> String {
        "\(locks)/\(operation)-\(hexadecimalText(of: SHA256.hash(data: Array(files.resolve(data).utf8)).prefix(16))).lock"
    }
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
            // Skip stores whose folder does not exist: no process writes to them.
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
