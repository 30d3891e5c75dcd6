import BackendRuntime
import Foundation
import Synchronization

/// The machine's files, counted, and made to fail or to stop at a chosen operation.
final class WatchedFiles: FileSystem {
    /// What happens at the chosen operation.
    enum Fault: Sendable {
        /// It fails with this error number, and the ones after it work.
        case fails(Int32)
        /// It and everything after it fails, as if the process had been killed before it.
        case stops
        /// It is done, and everything after it fails: killed just behind it.
        case stopsAfter
    }

    private enum Turn {
        case go, fail(Int32), goAndStop
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
        let turn: Turn = state.withLock { state in
            if state.isStopped { return .fail(EIO) }
            state.operations.append(operation)
            guard let (number, fault) = state.fault, number == state.operations.count else { return .go }
            switch fault {
            case .fails(let error): return .fail(error)
            case .stops:
                state.isStopped = true
                return .fail(EIO)
            case .stopsAfter:
                state.isStopped = true
                return .goAndStop
            }
        }
        switch turn {
        case .go: return try body()
        case .fail(let number): throw FileError(number: number, operation: operation, path: path)
        case .goAndStop:
            _ = try body()
            throw FileError(number: EIO, operation: operation, path: path)
        }
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

/// A lane that counts what is handed to it.
final class CountedLane: Lane {
    private let lane = DispatchLane(label: "counted")
    private let hops = Mutex(0)

    var count: Int { hops.withLock { $0 } }

    func enqueue(_ work: @escaping @Sendable () -> Void) {
        hops.withLock { $0 += 1 }
        lane.enqueue(work)
    }
}

/// The machine's clock, which a test can move on; a pause moves it on instead of waiting, and may do something of the test's in the meantime.
final class MovableClock: RuntimeClock {
    private let real = SystemClock()
    private let offset = Mutex(Duration.zero)
    private let onPause: @Sendable (Duration) -> Void

    init(onPause: @escaping @Sendable (Duration) -> Void = { _ in }) { self.onPause = onPause }

    var now: MonotonicInstant { real.now.advanced(by: offset.withLock { $0 }) }
    var wallSeconds: Double { real.wallSeconds }
    func advance(_ duration: Duration) { offset.withLock { $0 += duration } }

    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        real.schedule(at: instant.advanced(by: .zero - offset.withLock { $0 }), action)
    }

    func pause(_ duration: Duration) {
        advance(duration)
        onPause(duration)
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
