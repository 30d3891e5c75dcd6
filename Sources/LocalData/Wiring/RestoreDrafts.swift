package import BackendContract
package import BackendRuntime
import Crypto
import Foundation

/// The drafts of a restore, which lie beside the places that they are for and may be plaintext. They are noted in a file before the first is
/// made; whoever opens a store, or makes a backup or a restore, removes what a process left that was killed before its journal.
///
/// A restore holds the lock from its beginning to its end, so that nobody takes its drafts for left ones.
package final class RestoreDrafts: Sendable {
    package let directories: StorageDirectories
    package let runtime: Runtime
    private let lock: any FileLock

    package static func path(_ directories: StorageDirectories) -> String { "\(directories.data)/restore-drafts.json" }

    /// Takes the lock.
    /// - Throws: `BackendError` with `unavailable` while another restore runs.
    package init(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) {
        (self.directories, self.runtime) = (directories, runtime)
        let files = runtime.files
        do throws(FileError) {
            try files.createDirectory(directories.locks)
            // All programs share the folder of locks: each has a lock of its own, named after its folder.
            let name = hexadecimalText(of: SHA256.hash(data: Array(files.resolve(directories.data).utf8)).prefix(16))
            lock = try files.lock("\(directories.locks)/restore-\(name).lock") { true }
        } catch {
            let refused = error.backendError()
            guard refused.code == .timedOut else { throw refused }
            throw BackendError(.unavailable, "Another restore is under way here. Wait until it has ended; nothing was changed.")
        }
    }

    deinit { lock.release() }

    /// Releases the lock; a second call does nothing.
    package func release() { lock.release() }

    /// Removes the drafts that are noted, unless a journal says that they are to get their places.
    package func removeLeft() throws(BackendError) {
        let files = runtime.files
        do throws(FileError) {
            guard try files.status(RestoreMark.path(directories)) == nil, let noted = try files.read(Self.path(directories)) else { return }
            let paths = PortablePaths(directories, files)
            let drafts = (try? JSONDecoder().decode([String].self, from: Data(noted.bytes))) ?? []
            for draft in drafts.map(paths.path) where Self.isDraft(draft) {
                for ending in ["", "-journal", "-wal", "-shm"] { try files.remove(draft + ending) }
                // The folder may not have been made.
                let folder = parentDirectory(of: draft)
                if try files.status(folder) != nil { try files.synchronizeDirectory(folder) }
            }
            try files.remove(Self.path(directories))
        } catch { throw error.backendError() }
    }

    /// Whether a path is one that a restore gives a draft: nothing else is ever removed.
    private static func isDraft(_ path: String) -> Bool {
        let name = lastComponent(of: path)
        return path.hasPrefix("/") && name.hasPrefix(".") && name.contains(".restore-")
    }

    /// Removes what a killed restore left, unless another restore runs. One look where there is nothing.
    static func removeLeft(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) {
        let found: FileStatus?
        do throws(FileError) { found = try runtime.files.status(path(directories)) } catch { throw error.backendError() }
        guard found != nil else { return }
        let drafts: RestoreDrafts
        do throws(BackendError) { drafts = try RestoreDrafts(directories, runtime) } catch {
            if error.code == .unavailable { return }
            throw error
        }
        defer { drafts.release() }
        try drafts.removeLeft()
    }
}
