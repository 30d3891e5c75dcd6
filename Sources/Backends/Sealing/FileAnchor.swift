package import BackendContract
package import BackendRuntime
import Crypto

/// A freshness anchor in a file, which is best on another disk than the database, or in a folder that no backup covers.
///
/// The file is made with permissions 0600 and holds ``FreshnessMark/text`` and a newline. It is replaced whole, under a lock of its own.
package struct FileAnchor: FreshnessAnchor {
    private let path: String
    private let lockPath: String
    private let files: KeyFiles

    /// The path.
    package var name: String { "the file \(path)" }

    /// Names the file; nothing is opened yet.
    /// - Parameters:
    ///   - path: The file, an absolute path.
    ///   - lockPath: The file whose lock is held while the mark is replaced, the same for all programs that use the anchor.
    ///   - deadline: How long a call may take.
    ///   - runtime: The machine.
    package init(path: String, lockPath: String, deadline: Duration, runtime: Runtime) {
        (self.path, self.lockPath) = (path, lockPath)
        files = KeyFiles("anchor", deadline: deadline, runtime: runtime)
    }

    /// The lock of an anchor, named by its path.
    /// - Parameters:
    ///   - path: The anchor.
    ///   - directory: A directory of state that all programs share that use the anchor.
    package static func lockPath(forAnchorAt path: String, in directory: String) -> String {
        "\(directory)/anchor-\(hexadecimalText(of: SHA256.hash(data: Array(path.utf8)).prefix(16))).lock"
    }

    /// Reads the mark. The file, and every folder above it, must be trusted.
    package func load() async throws(BackendError) -> FreshnessMark? {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read() }
    }

    /// Replaces the file under the lock, if it holds what is known.
    package func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool {
        try await files.onLane(isMutation: true) { () throws(BackendError) in
            let system = files.runtime.files
            let directory = parentDirectory(of: path)
            let lock: any FileLock
            do throws(FileError) {
                try system.createDirectory(directory)
                try system.createDirectory(parentDirectory(of: lockPath))
            } catch {
                throw error.backendError()
            }
            try system.requireTrust(in: [path, lockPath])
            do throws(FileError) { lock = try system.lock(lockPath) { false } } catch { throw error.backendError() }
            defer { lock.release() }
            guard try read() == known else { return false }
            do throws(FileError) {
                // A killed process may have left one. With the lock held, no other process is writing.
                for draft in try system.list(directory) ?? [] where draft.hasPrefix(draftPrefix) {
                    try system.remove("\(directory)/\(draft)")
                }
            } catch {
                throw error.backendError()
            }
            do throws(DurableReplaceError) {
                try system.replaceDurably(
                    path, with: Array((mark.text + "\n").utf8),
                    temporaryName: "\(draftPrefix)\(hexadecimalText(of: files.runtime.randomBytes(8))).tmp")
            } catch {
                throw error.error.backendError(outcome: error.mayBeReplaced ? .unknown : .notApplied)
            }
            return true
        }
    }

    private var draftPrefix: String { ".\(lastComponent(of: path)).localdata-" }

    private func read() throws(BackendError) -> FreshnessMark? {
        let contents = try files.read(path)
        // A missing file in a folder that others can write proves nothing.
        try files.runtime.files.requireTrust(in: [path])
        guard let contents else { return nil }
        guard let mark = String(validating: contents.bytes, as: UTF8.self).flatMap({ FreshnessMark(text: $0) }) else {
            throw BackendAnchor.damaged(name)
        }
        return mark
    }
}
