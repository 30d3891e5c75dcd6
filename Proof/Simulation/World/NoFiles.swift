package import BackendRuntime
import Foundation

/// A file system on which every operation fails. Simulated stores need no files.
package struct NoFiles: FileSystem {
    package init() {}

    private func refuse(_ operation: String, _ path: String) -> FileError { FileError(number: ENOSYS, operation: operation, path: path) }

    package func status(_ path: String) throws(FileError) -> FileStatus? { throw refuse("stat", path) }
    package var trustedOwners: TrustedOwners { TrustedOwners(user: 0) }
    package func read(_ path: String) throws(FileError) -> FileContents? { throw refuse("read", path) }
    package func create(_ path: String, _ bytes: [UInt8]) throws(FileError) { throw refuse("create", path) }
    package func append(_ path: String, _ bytes: [UInt8]) throws(FileError) { throw refuse("append", path) }
    package func read(_ path: String, from offset: Int64, count: Int) throws(FileError) -> [UInt8]? { throw refuse("read", path) }
    package func synchronizeFile(_ path: String) throws(FileError) { throw refuse("fsync", path) }
    package func rename(_ path: String, to newPath: String) throws(FileError) { throw refuse("rename", path) }
    package func link(_ path: String, to newPath: String) throws(FileError) { throw refuse("link", path) }
    package func remove(_ path: String) throws(FileError) { throw refuse("unlink", path) }
    package func overwriteWithZeros(_ path: String) throws(FileError) { throw refuse("overwrite", path) }
    package func rewrite(_ path: String) throws(FileError) { throw refuse("rewrite", path) }
    package func synchronizeDirectory(_ path: String) throws(FileError) { throw refuse("fsync", path) }
    package func createDirectory(_ path: String) throws(FileError) { throw refuse("mkdir", path) }
    package func list(_ path: String) throws(FileError) -> [String]? { throw refuse("readdir", path) }
    package func resolve(_ path: String) -> String { path }
    package func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock { throw refuse("lock", path) }
    package func lockContent(of path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> (any FileLock)? {
        throw refuse("lock", path)
    }
    package func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void> { AsyncStream { $0.finish() } }
}
