import BackendContract
import BackendRuntime

/// The journal of a restore: a file that exists while the restore replaces stores. While it exists, no store is opened,
/// because the stores may belong to different states.
package enum RestoreMark {
    /// The path of the file.
    package static func path(_ directories: StorageDirectories) -> String { "\(directories.data)/restore.json" }

    /// Throws if the file exists. Otherwise it removes the drafts (new files beside the stores) of a restore that ended
    /// before it created the file.
    /// Reason: "A journal makes a restore finish or change nothing" in Docs/Decisions/Backups.md.
    /// - Throws: ``StorageError`` with `unavailable`.
    static func requireNone(_ configuration: StorageConfiguration) throws {
        guard let directories = try configuration.directories else { return }
        let path = path(directories)
        let found = try translatingErrors(key: "restore") { () throws(FileError) in try configuration.runtime.files.status(path) }
        guard found == nil else {
            throw StorageError(
                StorageError.unavailable, key: "restore",
                "A restore was interrupted, and the stores belong to different states. Run the same restore again: it goes on where it stopped."
            )
        }
        do throws(BackendError) { try RestoreDrafts.removeLeft(directories, configuration.runtime) } catch {
            throw StorageError.from(error, key: "restore")
        }
    }

    /// Runs work, and converts an error of the file system to an error that the router may throw.
    static func translatingErrors<R>(key: String, _ body: () throws(FileError) -> R) throws -> R {
        do throws(FileError) { return try body() } catch { throw StorageError.from(error.backendError(), key: key) }
    }
}
