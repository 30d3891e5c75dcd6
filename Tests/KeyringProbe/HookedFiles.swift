import BackendRuntime

/// The machine's files, with something that happens whenever the state of a collection's file is asked for: the moment between the look at
/// a slot and the request that changes it.
struct HookedFiles: FileSystem {
    private let files = PosixFileSystem()
    private let hook: @Sendable () -> Void

    init(_ hook: @escaping @Sendable () -> Void) { self.hook = hook }

    func status(_ path: String) throws(FileError) -> FileStatus? {
        if path.hasSuffix(".keyring") { hook() }
        return try files.status(path)
    }

    func read(_ path: String) throws(FileError) -> FileContents? { try files.read(path) }
    func create(_ path: String, _ bytes: [UInt8]) throws(FileError) { try files.create(path, bytes) }
    func synchronizeFile(_ path: String) throws(FileError) { try files.synchronizeFile(path) }
    func rename(_ path: String, to newPath: String) throws(FileError) { try files.rename(path, to: newPath) }
    func link(_ path: String, to newPath: String) throws(FileError) { try files.link(path, to: newPath) }
    func remove(_ path: String) throws(FileError) { try files.remove(path) }
    func synchronizeDirectory(_ path: String) throws(FileError) { try files.synchronizeDirectory(path) }
    func createDirectory(_ path: String) throws(FileError) { try files.createDirectory(path) }
    func list(_ path: String) throws(FileError) -> [String]? { try files.list(path) }
    func resolve(_ path: String) -> String { files.resolve(path) }
    func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock { try files.lock(path, giveUp: giveUp) }
    func changes(in directory: String) -> AsyncStream<String> { files.changes(in: directory) }
}
