import BackendRuntime
import Foundation
import Synchronization

/// The machine's files, counted, and made to fail or to stop at a chosen operation.
final class WatchedFiles: FileSystem {
    /// What happens at the chosen operation.
    enum Fault: Hashable, Sendable {
        /// It fails with this error number, and the ones after it work.
        case fails(Int32)
        /// It and everything after it fails, as if the process had been killed before it.
        case stops
        /// It is done, and everything after it fails: killed just behind it.
        case stopsAfter
    }

    private struct State {
        var operations: [String] = []
        var fault: (number: Int, Fault)?
        var isStopped = false
    }

    private let real = PosixFileSystem()
    private let state = Mutex(State())

    /// The operations that change something, in order.
    var operations: [String] { state.withLock { $0.operations } }
    func count(_ operation: String) -> Int { operations.count { $0 == operation } }

    /// Starts counting from 1 again and sets what happens at an operation.
    func arm(_ fault: Fault?, at number: Int = 1) {
        state.withLock { state in
            state.operations = []
            state.isStopped = false
            state.fault = fault.map { (number, $0) }
        }
    }

    private func change<Result>(_ operation: String, _ path: String, _ body: () throws(FileError) -> Result) throws(FileError) -> Result {
        let failure: Int32? = state.withLock { state in
            if state.isStopped { return EIO }
            state.operations.append(operation)
            guard let (number, fault) = state.fault, number == state.operations.count else { return nil }
            if case .fails(let error) = fault { return error }
            state.isStopped = true
            return fault == .stops ? EIO : nil
        }
        if let failure { throw FileError(number: failure, operation: operation, path: path) }
        return try body()
    }

    func status(_ path: String) throws(FileError) -> FileStatus? { try real.status(path) }
    func read(_ path: String) throws(FileError) -> FileContents? { try real.read(path) }
    func list(_ path: String) throws(FileError) -> [String]? { try real.list(path) }
    func resolve(_ path: String) -> String { real.resolve(path) }
    func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock { try real.lock(path, giveUp: giveUp) }
    func changes(in directory: String) -> AsyncStream<String> { real.changes(in: directory) }

    func create(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        try change("create", path) { () throws(FileError) in try real.create(path, bytes) }
    }
    func synchronizeFile(_ path: String) throws(FileError) {
        try change("synchronizeFile", path) { () throws(FileError) in try real.synchronizeFile(path) }
    }
    func rename(_ path: String, to newPath: String) throws(FileError) {
        try change("rename", path) { () throws(FileError) in try real.rename(path, to: newPath) }
    }
    func link(_ path: String, to newPath: String) throws(FileError) {
        try change("link", path) { () throws(FileError) in try real.link(path, to: newPath) }
    }
    func remove(_ path: String) throws(FileError) {
        try change("remove", path) { () throws(FileError) in try real.remove(path) }
    }
    func synchronizeDirectory(_ path: String) throws(FileError) {
        try change("synchronizeDirectory", path) { () throws(FileError) in try real.synchronizeDirectory(path) }
    }
    func createDirectory(_ path: String) throws(FileError) {
        try change("createDirectory", path) { () throws(FileError) in try real.createDirectory(path) }
    }
}

extension Runtime {
    /// The real machine with some parts exchanged.
    static func live(files: (any FileSystem)? = nil, clock: (any RuntimeClock)? = nil, lane: (any Lane)? = nil) -> Runtime {
        var runtime = Runtime.live
        if let files { runtime.files = files }
        if let clock { runtime.clock = clock }
        if let lane { runtime.makeLane = { _ in lane } }
        return runtime
    }
}
