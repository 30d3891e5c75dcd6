import BackendContract
import BackendRuntime
import Synchronization

/// The real file system, counting what a commit costs: locks, flushes and renames, by path.
final class CountedFileSystem: FileSystem {
    private let base = PosixFileSystem()
    private let counts = Mutex<[String: Int]>([:])

    /// How often something was done to paths that contain a text.
    func count(_ operation: String, _ part: String) -> Int {
        counts.withLock { counts in
            counts.reduce(0) { $1.key.hasPrefix(operation + " ") && $1.key.contains(part) ? $0 + $1.value : $0 }
        }
    }

    private func note(_ operation: String, _ path: String) { counts.withLock { $0["\(operation) \(path)", default: 0] += 1 } }

    func status(_ path: String) throws(FileError) -> FileStatus? { try base.status(path) }
    func read(_ path: String) throws(FileError) -> FileContents? { try base.read(path) }
    func create(_ path: String, _ bytes: [UInt8]) throws(FileError) { try base.create(path, bytes) }
    func synchronizeFile(_ path: String) throws(FileError) {
        note("flush", path)
        try base.synchronizeFile(path)
    }
    func rename(_ path: String, to newPath: String) throws(FileError) {
        note("rename", newPath)
        try base.rename(path, to: newPath)
    }
    func link(_ path: String, to newPath: String) throws(FileError) { try base.link(path, to: newPath) }
    func remove(_ path: String) throws(FileError) { try base.remove(path) }
    func synchronizeDirectory(_ path: String) throws(FileError) { try base.synchronizeDirectory(path) }
    func createDirectory(_ path: String) throws(FileError) { try base.createDirectory(path) }
    func list(_ path: String) throws(FileError) -> [String]? { try base.list(path) }
    func resolve(_ path: String) -> String { base.resolve(path) }
    func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock {
        note("lock", path)
        return try base.lock(path, giveUp: giveUp)
    }
    func changes(in directory: String) -> AsyncStream<String> { base.changes(in: directory) }
}
