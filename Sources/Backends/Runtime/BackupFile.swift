package import BackendContract
import Synchronization

/// A file that a backup copies into memory, for example a property list or a small file beside the data.
package struct BackupFile: BackupStore {
    private let path: String
    private let lane: any Lane
    private let runtime: Runtime
    package let backupLock: String?
    private let isDamage: @Sendable ([UInt8]) -> Bool

    /// Creates a description of the file; nothing is opened.
    /// - Parameter isDamage: Returns whether the content of the file is damaged. A backup contains the same bytes in
    ///   any case, and records the damage.
    package init(path: String, lock: String?, runtime: Runtime, isDamage: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }) {
        (self.path, backupLock, self.runtime, self.isDamage) = (path, lock, runtime, isDamage)
        lane = runtime.makeLane("backup.\(lastComponent(of: path))")
    }

    package func copyForBackup(deadline: MonotonicInstant) async throws(BackendError) -> (any BackupCopy)? {
        guard let bytes = try await read(deadline) else { return nil }
        return Copy(file: self, bytes: bytes)
    }

    /// Reads the content of one moment. If a program that ignores the lock writes to the file during the read, the
    /// read is repeated, until the deadline.
    private func read(_ deadline: MonotonicInstant) async throws(BackendError) -> [UInt8]? {
        let (path, runtime) = (path, runtime)
        return try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) { (call) throws(BackendError) in
            do throws(FileError) {
                while true {
                    let before = try runtime.files.status(path)
                    let contents = try runtime.files.read(path)
                    if before == contents?.status, contents?.bytes.count ?? 0 == Int(before?.size ?? 0) { return contents?.bytes }
                    guard runtime.clock.now < deadline else { break }
                    runtime.clock.pause(.milliseconds(1))
                }
            } catch { throw error.backendError() }
            throw BackendError(.timedOut, "Another program keeps writing to \(path). Try again when it is done.")
        }
    }

    private final class Copy: BackupCopy {
        private let file: BackupFile
        private let bytes: Mutex<[UInt8]>
        private let position = Mutex(0)

        init(file: BackupFile, bytes: [UInt8]) {
            self.file = file
            self.bytes = Mutex(bytes)
        }

        func nextPart() async throws(BackendError) -> [UInt8]? {
            bytes.withLock { bytes in
                position.withLock { position in
                    guard position < bytes.count else { return nil }
                    defer { position = min(bytes.count, position + BackupPart.size) }
                    return Array(bytes[position..<min(bytes.count, position + BackupPart.size)])
                }
            }
        }

        func isDamaged() async -> Bool { bytes.withLock { file.isDamage($0) } }

        func hasChanged() async throws(BackendError) -> Bool {
            let now = try await file.read(file.runtime.clock.now.advanced(by: .seconds(10)))
            return bytes.withLock { $0 != now }
        }

        func close() async { bytes.withLock { wipe(&$0) } }
    }
}

/// Writes a restored file to a temporary path beside its target. The content arrives in parts.
package struct FileDraft: RestoreDraft {
    private let path: String
    private let lane: FileLane

    /// Creates an empty file (0600) at a path, and its folder if necessary. A file that an earlier attempt left at
    /// the path is removed.
    package init(path: String, deadline: Duration, runtime: Runtime) async throws(BackendError) {
        self.path = path
        lane = FileLane("restore.\(lastComponent(of: path))", within: deadline, runtime)
        try await lane.run(isMutation: true) { (files) throws(FileError) in
            try files.createDirectory(parentDirectory(of: path))
            try files.remove(path)
            try files.create(path, [])
        }
    }

    package func take(_ part: [UInt8]) async throws(BackendError) {
        try await lane.run(isMutation: true) { (files) throws(FileError) in try files.append(path, part) }
    }

    package func finish() async throws(BackendError) {
        try await lane.run(isMutation: true) { (files) throws(FileError) in try files.synchronizeFile(path) }
    }
}
