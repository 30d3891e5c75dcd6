package import BackendRuntime
import Foundation
import Synchronization

/// The real file system with a hook before each operation.
///
/// It counts the operations that change something. A chosen operation can fail or stop.
/// The times of one file can be frozen.
package final class HookedFiles: FileSystem {
    /// The fault of the chosen operation.
    package enum Fault: Hashable, Sendable {
        /// The operation fails with this error number. Later operations work.
        case fails(Int32)
        /// The operation is performed, but fails with this error number. Later operations work.
        case failsAfter(Int32)
        /// The operation and all later ones fail, as if the process had been killed before it.
        case stops
        /// The operation is performed and all later ones fail, as if the process had been killed after it.
        case stopsAfter
    }

    private struct State {
        var operations: [(name: String, path: String)] = []
        var locks: [String] = []
        var fault: (number: Int, Fault)?
        var failing: [String: Int32] = [:]
        var isStopped = false
    }

    private let real = PosixFileSystem()
    private let state = Mutex(State())
    private let frozen: String?
    private let largest: Int
    private let before: @Sendable (_ operation: String, _ path: String) -> Void

    /// Creates a file system with a hook.
    /// - Parameters:
    ///   - frozen: A file whose times do not change, as within one tick of the file system's clock.
    ///   - largest: The maximum size of a new file in bytes. A larger one fails for lack of space.
    ///   - before: Called just before each operation, for example to act as another program.
    package init(
        frozen: String? = nil, largest: Int = .max, before: @escaping @Sendable (_ operation: String, _ path: String) -> Void = { _, _ in }
    ) { (self.frozen, self.largest, self.before) = (frozen, largest, before) }

    /// The names of the operations that change something, in order.
    package var operations: [String] { state.withLock { $0.operations.map(\.name) } }

    /// Returns how often an operation was applied to paths that contain a text.
    package func count(_ operation: String, _ part: String = "") -> Int {
        state.withLock { $0.operations.count { $0.name == operation && (part.isEmpty || $0.path.contains(part)) } }
    }

    /// Returns how often a lock was taken on a file whose path contains a text.
    package func locks(_ part: String) -> Int { state.withLock { $0.locks.count { $0.contains(part) } } }

    /// Restarts the count of operations at 1, and sets the fault of one operation.
    package func arm(_ fault: Fault?, at number: Int = 1) {
        state.withLock { $0 = State(fault: fault.map { (number, $0) }, failing: $0.failing) }
    }

    /// Makes every operation with this name fail with an error number. With nil, the operation works again.
    package func fail(_ operation: String, with error: Int32? = EIO) { state.withLock { $0.failing[operation] = error } }

    private func change<Result>(
        _ operation: String, _ path: String, _ body: () throws(FileError) -> Result
    ) throws(FileError) -> Result {
        before(operation, path)
        let (failure, isDone): (Int32?, Bool) = state.withLock { state in
            if state.isStopped { return (EIO, false) }
            state.operations.append((operation, path))
            if let error = state.failing[operation] { return (error, false) }
            guard let (number, fault) = state.fault, number == state.operations.count else { return (nil, true) }
            switch fault {
            case .fails(let error): return (error, false)
            case .failsAfter(let error): return (error, true)
            case .stops, .stopsAfter:
                state.isStopped = true
                return fault == .stops ? (EIO, false) : (nil, true)
            }
        }
        guard let failure else { return try body() }
        if isDone { _ = try body() }
        throw FileError(number: failure, operation: operation, path: path)
    }

    private func freeze(_ status: FileStatus, _ path: String) -> FileStatus {
        guard path == frozen else { return status }
        var status = status
        (status.modified, status.changed) = (0, 0)
        return status
    }

    // MARK: Operations that change nothing: neither counted nor broken

    package func status(_ path: String) throws(FileError) -> FileStatus? {
        before("status", path)
        return try real.status(path).map { freeze($0, path) }
    }
    package var trustedOwners: TrustedOwners { real.trustedOwners }
    package func accessControlList(_ path: String) throws(FileError) -> AccessControlList? { try real.accessControlList(path) }
    package func isPrivate(_ group: UInt32, of user: UInt32) throws(FileError) -> Bool { try real.isPrivate(group, of: user) }
    package func read(_ path: String) throws(FileError) -> FileContents? {
        guard var contents = try real.read(path) else { return nil }
        contents.status = freeze(contents.status, path)
        return contents
    }
    package func read(_ path: String, from offset: Int64, count: Int) throws(FileError) -> [UInt8]? {
        try real.read(path, from: offset, count: count)
    }
    package func list(_ path: String) throws(FileError) -> [String]? { try real.list(path) }
    package func resolve(_ path: String) -> String { real.resolve(path) }
    package func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void> { real.changes(of: names, in: directory) }
    package func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock {
        before("lock", path)
        state.withLock { $0.locks.append(path) }
        return try real.lock(path, giveUp: giveUp)
    }

    package func lockContent(of path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> (any FileLock)? {
        try real.lockContent(of: path, giveUp: giveUp)
    }

    // MARK: Operations that change something

    package func create(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        try change("create", path) { () throws(FileError) in
            guard bytes.count <= largest else { throw FileError(number: ENOSPC, operation: "create", path: path) }
            try real.create(path, bytes)
        }
    }
    package func append(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        try change("append", path) { () throws(FileError) in try real.append(path, bytes) }
    }
    package func overwriteWithZeros(_ path: String) throws(FileError) {
        try change("overwriteWithZeros", path) { () throws(FileError) in try real.overwriteWithZeros(path) }
    }
    package func rewrite(_ path: String) throws(FileError) {
        try change("rewrite", path) { () throws(FileError) in try real.rewrite(path) }
    }
    package func synchronizeFile(_ path: String) throws(FileError) {
        try change("synchronizeFile", path) { () throws(FileError) in try real.synchronizeFile(path) }
    }
    package func rename(_ path: String, to newPath: String) throws(FileError) {
        try change("rename", newPath) { () throws(FileError) in try real.rename(path, to: newPath) }
    }
    package func link(_ path: String, to newPath: String) throws(FileError) {
        try change("link", newPath) { () throws(FileError) in try real.link(path, to: newPath) }
    }
    package func keepOwner(of path: String, for newPath: String) throws(FileError) { try real.keepOwner(of: path, for: newPath) }
    package func remove(_ path: String) throws(FileError) {
        try change("remove", path) { () throws(FileError) in try real.remove(path) }
    }
    package func synchronizeDirectory(_ path: String) throws(FileError) {
        try change("synchronizeDirectory", path) { () throws(FileError) in try real.synchronizeDirectory(path) }
    }
    package func createDirectory(_ path: String) throws(FileError) {
        try change("createDirectory", path) { () throws(FileError) in try real.createDirectory(path) }
    }
}
