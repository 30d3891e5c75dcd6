import BackendRuntime

/// The machine's files, except that the times of one of them stand still, as they do within a tick.
final class FrozenTimes: FileSystem {
    private let real = PosixFileSystem()
    private let path: String

    init(path: String) { self.path = path }

    private func frozen(_ status: FileStatus, _ path: String) -> FileStatus {
        var status = status
        if path == self.path { (status.modified, status.changed) = (0, 0) }
        return status
    }

    func status(_ path: String) throws(FileError) -> FileStatus? { try real.status(path).map { frozen($0, path) } }
    func read(_ path: String) throws(FileError) -> FileContents? {
        guard var contents = try real.read(path) else { return nil }
        contents.status = frozen(contents.status, path)
        return contents
    }
    func create(_ path: String, _ bytes: [UInt8]) throws(FileError) { try real.create(path, bytes) }
    func synchronizeFile(_ path: String) throws(FileError) { try real.synchronizeFile(path) }
    func rename(_ path: String, to newPath: String) throws(FileError) { try real.rename(path, to: newPath) }
    func link(_ path: String, to newPath: String) throws(FileError) { try real.link(path, to: newPath) }
    func remove(_ path: String) throws(FileError) { try real.remove(path) }
    func synchronizeDirectory(_ path: String) throws(FileError) { try real.synchronizeDirectory(path) }
    func createDirectory(_ path: String) throws(FileError) { try real.createDirectory(path) }
    func list(_ path: String) throws(FileError) -> [String]? { try real.list(path) }
    func resolve(_ path: String) -> String { real.resolve(path) }
    func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock { try real.lock(path, giveUp: giveUp) }
    func changes(in directory: String) -> AsyncStream<String> { real.changes(in: directory) }
}
