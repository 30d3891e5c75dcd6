import BackendContract
import BackendRuntime

/// The limits of a log.
enum HistoryLimit {
    /// The size in bytes at which the earliest lines are dropped.
    static let size = 1 << 20
    /// The size in bytes of the lines that are then kept.
    static let kept = size / 2
    /// For a log in a store: one of this number of calls measures it. It is chosen at random, because a short-lived program may
    /// append a single line.
    static let interval: UInt64 = 256
}

/// A history in a file, one line for each page.
final class HistoryFile: HistoryLog {
    /// The path of the file and that of its lock file.
    typealias Paths = (file: String, lock: String)

    private let paths: @Sendable () throws(BackendError) -> Paths
    private let deadline: Duration
    private let runtime: Runtime
    private let lane: any Lane

    /// - Parameter paths: Returns the paths, or throws if nothing can be written now.
    init(deadline: Duration, runtime: Runtime, _ paths: @escaping @Sendable () throws(BackendError) -> Paths) {
        (self.paths, self.deadline, self.runtime) = (paths, deadline, runtime)
        lane = runtime.makeLane("history")
    }

    func append(_ line: [UInt8]) async throws(BackendError) {
        try await locked { (path, files) throws(FileError) in
            guard let status = try files.status(path) else {
                try files.createDirectory(parentDirectory(of: path))
                return try files.create(path, line)
            }
            // The line break comes first, because a killed process may have written a part of the line before.
            try files.append(path, [Self.lineBreak] + line)
            guard Int(status.size) + line.count > HistoryLimit.size else { return }
            try self.rewrite(path, files) { HistoryPage.trimmed($0, to: HistoryLimit.kept) }
        }
    }

    func lines() async throws(BackendError) -> [[UInt8]] {
        try await onLane { (path, files) throws(FileError) in try Self.lines(path, files) }
    }

    func rewrite(_ change: @escaping @Sendable ([[UInt8]]) -> [[UInt8]]?) async throws(BackendError) {
        try await locked { (path, files) throws(FileError) in
            if try files.status(path) != nil { try self.rewrite(path, files, change) }
        }
    }

    private static let lineBreak = UInt8(ascii: "\n")

    private static func lines(_ path: String, _ files: any FileSystem) throws(FileError) -> [[UInt8]] {
        try files.read(path)?.bytes.split(separator: lineBreak).map(Array.init) ?? []
    }

    private func rewrite(_ path: String, _ files: any FileSystem, _ change: ([[UInt8]]) -> [[UInt8]]?) throws(FileError) {
        guard let lines = change(try Self.lines(path, files)) else { return }
        // A killed process may have left the temporary file.
        let temporary = ".\(lastComponent(of: path)).tmp"
        try files.remove("\(parentDirectory(of: path))/\(temporary)")
        do throws(DurableReplaceError) {
            try files.replaceDurably(path, with: Array(lines.joined(separator: [Self.lineBreak])), temporaryName: temporary)
        } catch { throw error.error }
    }

    /// Runs work while no other process changes the file.
    private func locked(_ work: @escaping @Sendable (String, any FileSystem) throws(FileError) -> Void) async throws(BackendError) {
        let (paths, clock, latest) = (try paths(), runtime.clock, runtime.deadline(after: deadline))
        try await onLane { (path, files) throws(FileError) in
            try files.createDirectory(parentDirectory(of: paths.lock))
            let lock = try files.lock(paths.lock) { clock.now >= latest }
            defer { lock.release() }
            try work(path, files)
        }
    }

    /// Runs work with the resolved path of the file, which only this user and root can change.
    private func onLane<Response: Sendable>(
        _ work: @escaping @Sendable (String, any FileSystem) throws(FileError) -> Response
    ) async throws(BackendError) -> Response {
        let (path, files) = (try paths().file, runtime.files)
        return try await lane.run(clock: runtime.clock, deadline: runtime.deadline(after: deadline), isMutation: false) {
            (_) throws(BackendError) in
            try files.requireTrust(in: [path])
            do throws(FileError) { return try work(files.resolve(path), files) } catch { throw error.backendError() }
        }
    }
}

/// A history in a store that changes single entries at the same cost, whatever their number: in memory, or on a server.
final class HistoryEntries: HistoryLog {
    private let store: OwnStore
    private let runtime: Runtime

    init(_ store: OwnStore, _ runtime: Runtime) { (self.store, self.runtime) = (store, runtime) }

    func append(_ line: [UInt8]) async throws(BackendError) {
        try await apply([.put(.bytes(line), at: address)])
        if runtime.randomBits() % HistoryLimit.interval == 0 { try await trim() }
    }

    /// Drops the earliest lines if the log is full.
    private func trim() async throws(BackendError) {
        try await rewrite { lines in
            guard lines.reduce(0, { $0 + $1.count }) > HistoryLimit.size else { return nil }
            return HistoryPage.trimmed(lines, to: HistoryLimit.kept)
        }
    }

    func lines() async throws(BackendError) -> [[UInt8]] { try await entries().map(\.line) }

    func rewrite(_ change: @escaping @Sendable ([[UInt8]]) -> [[UInt8]]?) async throws(BackendError) {
        let entries = try await entries()
        guard let lines = change(entries.map(\.line)) else { return }
        // Lines that stay keep their entries. If another process has changed one of the others since, nothing changes.
        let (old, new) = (Set(entries.map(\.line)), Set(lines))
        let changes =
            entries.filter { !new.contains($0.line) }.map { StorageMutation.delete($0.address, if: .revision($0.revision)) }
            + lines.filter { !old.contains($0) }.map { StorageMutation.put(.bytes($0), at: address) }
        if !changes.isEmpty { try await apply(changes) }
    }

    private var address: StorageAddress { StorageAddress("\(Self.prefix)\(hexadecimalText(of: runtime.randomBytes(16)))") }
    private static let prefix = "page:"

    private func backend() throws(BackendError) -> any StorageBackend {
        do { return try store.backend() } catch { throw BackendError(.unavailable, "The history of migrations cannot be opened: \(error)") }
    }

    private func apply(_ changes: [StorageMutation]) async throws(BackendError) {
        for case .failed(let error) in try await backend().apply(changes) { throw error }
    }

    private func entries() async throws(BackendError) -> [(address: StorageAddress, line: [UInt8], revision: StorageRevision)] {
        let backend = try backend()
        let addresses = try await backend.addresses(in: .values).filter { $0.name.hasPrefix(Self.prefix) }
        return zip(addresses, try await backend.read(addresses, .fresh)).compactMap { address, probe in
            guard let record = probe.record, case .bytes(let line) = record.payload else { return nil }
            return (address, line, record.revision)
        }
    }
}
