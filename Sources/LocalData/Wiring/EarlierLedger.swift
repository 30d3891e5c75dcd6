import BackendContract
import BackendRuntime
import Foundation

/// A large ledger of an earlier release, which had two entries for each value that was ever moved.
///
/// The store of a property list converts each entry, which takes longer than a call may wait. This type reads the file with
/// Foundation instead, and converts only what is kept.
struct EarlierLedger: Sendable {
    /// The size from which this type is used, in bytes. A ledger of this release is smaller.
    static let leastSize: Int64 = 1 << 20

    /// The parts of a ledger that are kept.
    struct Content: Sendable {
        /// The bytes of the file, to detect a later change.
        let bytes: [UInt8]
        /// The pins by their names.
        let pins: [String: String]
        /// The file without the pins and the history.
        let rest: [UInt8]
    }

    /// Returns the paths of the file and its lock file, or throws if nothing can be written now.
    let paths: @Sendable () throws(BackendError) -> HistoryFile.Paths
    let runtime: Runtime

    /// Reads the ledger; nil if it is not large, or has nothing of an earlier release.
    func read() async throws(BackendError) -> Content? {
        let path = try paths().file
        return try await onLane { (files) throws(FileError) in
            guard let status = try files.status(path), status.size >= Self.leastSize, let bytes = try files.read(path)?.bytes else {
                return nil
            }
            return Self.content(bytes)
        }
    }

    /// Replaces the file by its rest, durably. Does nothing if the file was changed since it was read.
    func replace(_ content: Content) async throws(BackendError) {
        let (paths, clock) = (try paths(), runtime.clock)
        let end = clock.now.advanced(by: Self.patience)
        try await onLane { (files) throws(FileError) in
            let lock = try files.lock(paths.lock) { clock.now >= end }
            defer { lock.release() }
            let target = files.resolve(paths.file)
            let second = try files.lockContent(of: target) { clock.now >= end }
            defer { second?.release() }
            guard try files.read(target)?.bytes == content.bytes else { return }
            let temporary = ".\(lastComponent(of: target)).earlier.tmp"
            try files.remove("\(parentDirectory(of: target))/\(temporary)")
            do throws(DurableReplaceError) {
                try files.replaceDurably(target, with: content.rest, temporaryName: temporary)
            } catch { throw error.error }
        }
    }

    private static let patience = Duration.seconds(60)

    /// Runs work that may take longer than a call of a store, and that is needed once.
    private func onLane<Response: Sendable>(
        _ work: @escaping @Sendable (any FileSystem) throws(FileError) -> Response
    ) async throws(BackendError) -> Response {
        let (files, path) = (runtime.files, try paths().file)
        return try await runtime.onLane("ledger.earlier", within: Self.patience) { () throws(BackendError) in
            try files.requireTrust(in: [path])
            do throws(FileError) { return try work(files) } catch { throw error.backendError() }
        }
    }

    /// Returns the content of a file; nil if it is no property list, or has nothing of an earlier release.
    private static func content(_ bytes: [UInt8]) -> Content? {
        guard var list = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? [String: Any] else { return nil }
        let pins = list.filter { $0.key.hasPrefix(MigrationLedger.pinPrefix) }.compactMapValues { $0 as? String }
        let removed = list.keys.filter { pins[$0] != nil || MigrationLedger.isHistory($0) }
        if removed.isEmpty { return nil }
        for name in removed { list[name] = nil }
        // The metadata of the removed entries.
        if var reserved = list[reservedName] as? [String: Any], let entries = reserved["entries"] as? [String: Any] {
            reserved["entries"] = entries.filter { list[$0.key] != nil }
            list[reservedName] = reserved
        }
        guard let rest = try? PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0) else { return nil }
        return Content(bytes: bytes, pins: pins, rest: Array(rest))
    }

    /// The entry of the reserved dictionary of a property list. `Docs/Formats.md` describes it.
    private static let reservedName = "LocalData.metadata"
}
