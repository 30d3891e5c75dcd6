package import BackendContract
package import BackendRuntime
import Foundation

/// The drafts of a restore: new files beside the files that they will replace. They may be plaintext.
///
/// A file with the paths of all drafts is written before the first draft. It is needed if the process is killed before
/// it writes the journal of the restore. The next process that opens a store, or begins a backup or restore, then
/// removes these drafts.
///
/// A restore holds a lock until it ends, so that no other process removes its drafts.
package final class RestoreDrafts: Sendable {
    package let directories: StorageDirectories
    package let runtime: Runtime
    private let lock: any FileLock

    package static func path(_ directories: StorageDirectories) -> String { "\(directories.data)/restore-drafts.json" }

    /// Acquires the lock.
    /// - Throws: `BackendError` with `timedOut` while another restore runs.
    package init(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) {
        (self.directories, self.runtime) = (directories, runtime)
        let files = runtime.files
        do throws(FileError) {
            try files.createDirectory(directories.locks)
            lock = try files.lock(directories.lockPath("restore", files)) { true }
        } catch {
            let refused = error.backendError()
            guard refused.code == .timedOut else { throw refused }
            throw BackendError(.timedOut, "Another restore is under way here. Wait until it has ended; nothing was changed.")
        }
    }

    deinit { lock.release() }

    /// Releases the lock. A second call has no effect.
    package func release() { lock.release() }

    /// Removes the recorded drafts. If a journal exists, the drafts are kept, because an interrupted restore will move
    /// them into place.
    package func removeLeft() throws(BackendError) {
        let files = runtime.files
        do throws(FileError) {
            guard try files.status(RestoreMark.path(directories)) == nil, let noted = try files.read(Self.path(directories)) else { return }
            let paths = PortablePaths(directories, files)
            let drafts = (try? JSONDecoder().decode([String].self, from: Data(noted.bytes))) ?? []
            for draft in drafts.map(paths.path) where Self.isDraft(draft) {
                for ending in ["", "-journal", "-wal", "-shm"] { try files.remove(draft + ending) }
                // The folder may not exist.
                let folder = parentDirectory(of: draft)
                if try files.status(folder) != nil { try files.synchronizeDirectory(folder) }
            }
            try files.remove(Self.path(directories))
        } catch { throw error.backendError() }
    }

    /// Returns whether a path has the form that a restore gives to the paths of drafts. No other file is ever removed.
    private static func isDraft(_ path: String) -> Bool {
        let name = lastComponent(of: path)
        return path.hasPrefix("/") && name.hasPrefix(".") && name.contains(".restore-")
    }

    /// Removes the drafts of a killed restore, unless another restore runs. If there are no drafts, this only reads the
    /// status of one file.
    static func removeLeft(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) {
        guard try onDisk({ () throws(FileError) in try runtime.files.status(path(directories)) }) != nil else { return }
        let drafts: RestoreDrafts
        do throws(BackendError) { drafts = try RestoreDrafts(directories, runtime) } catch {
            if error.code == .timedOut { return }
            throw error
        }
        defer { drafts.release() }
        try drafts.removeLeft()
    }
}
