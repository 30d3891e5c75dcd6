import BackendContract
import BackendRuntime

/// The file that says that a restore has begun to put stores in their places and has not ended. Until it has, no store is opened: what is
/// half restored is never taken for whole.
package enum RestoreMark {
    /// Where the file is.
    package static func path(_ directories: StorageDirectories) -> String { "\(directories.data)/restore.json" }

    /// Refuses to open stores while there is one. Drafts of a restore that ended before it had one are removed.
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

    private static func translatingErrors<R>(key: String, _ body: () throws(FileError) -> R) throws -> R {
        do throws(FileError) { return try body() } catch { throw StorageError.from(error.backendError(), key: key) }
    }
}
