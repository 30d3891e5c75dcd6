package import BackendContract
package import BackendRuntime
import Crypto

/// A freshness anchor in a file. An anchor holds a mark of the latest state of a database, outside the database's file,
/// so that an older file is detected.
///
/// The file should be on another disk than the database, or in a folder that no backup contains. Otherwise an older
/// database and an older anchor could be restored together, and the anchor would not detect the older database.
///
/// The file has permissions 0600, and contains ``FreshnessMark/text`` and a newline. Each change replaces the whole
/// file while a separate lock file is locked.
package struct FileAnchor: FreshnessAnchor {
    private let path: String
    private let lockPath: String
    private let files: KeyFiles

    /// The name of the anchor for messages: it contains the path.
    package var name: String { "the file \(path)" }

    /// Creates an anchor for a path. No file is opened yet.
    /// - Parameters:
    ///   - path: The absolute path of the file.
    ///   - lockPath: The path of the lock file. All programs that use the anchor must use the same lock file.
    ///   - deadline: The time limit for each call.
    ///   - runtime: The clock, the file system and the other services of the machine.
    package init(path: String, lockPath: String, deadline: Duration, runtime: Runtime) {
        (self.path, self.lockPath) = (path, lockPath)
        files = KeyFiles("anchor", deadline: deadline, runtime: runtime)
    }

    /// Returns the path of the lock file for an anchor. The name of the lock file is a hash of the anchor's path.
    /// - Parameters:
    ///   - path: The path of the anchor.
    ///   - directory: The state directory that all programs with this anchor share.
    package static func lockPath(forAnchorAt path: String, in directory: String) -> String {
        "\(directory)/anchor-\(hexadecimalText(of: SHA256.hash(data: Array(path.utf8)).prefix(16))).lock"
    }

    /// Reads the mark. Throws `untrusted` if another user could change the file or a folder above it.
    package func load() async throws(BackendError) -> FreshnessMark? {
        try await files.onLane(isMutation: false) { () throws(BackendError) in try read() }
    }

    /// Replaces the file under the lock, if it still contains the expected mark. Returns false if it contains another
    /// one.
    package func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool {
        try await files.onLane(isMutation: true) { () throws(BackendError) in
            let system = files.runtime.files
            let directory = parentDirectory(of: path)
            try onDisk { () throws(FileError) in
                try system.createDirectory(directory)
                try system.createDirectory(parentDirectory(of: lockPath))
            }
            try system.requireTrust(in: [path, lockPath])
            let lock = try onDisk { () throws(FileError) in try system.lock(lockPath) { false } }
            defer { lock.release() }
            guard try read() == known else { return false }
            try onDisk { () throws(FileError) in
                // Remove the drafts of killed processes. A draft is a temporary file that will replace the anchor.
                // While this process holds the lock, no other process writes one.
                for draft in try system.list(directory) ?? [] where draft.hasPrefix(draftPrefix) {
                    try system.remove("\(directory)/\(draft)")
                }
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
        // If other users can write to the folder, a missing file does not prove that there was no mark.
        try files.runtime.files.requireTrust(in: [path])
        guard let contents else { return nil }
        guard let mark = String(validating: contents.bytes, as: UTF8.self).flatMap({ FreshnessMark(text: $0) }) else {
            throw BackendAnchor.damaged(name)
        }
        return mark
    }
}
