import BackendContract
import BackendRuntime
import Foundation
import LocalData

/// The planned operations of a restore. The restore first writes the new files as drafts beside the existing files. The
/// journal is written before the first store is replaced, and removed after the last one. While the journal exists, no
/// store opens; see ``RestoreMark``.
struct RestoreJournal: Codable {
    /// The replacement of one file by its draft.
    struct Step: Codable {
        var draft: String
        var target: String
        /// The path to which an existing file at `target` is moved.
        var kept: String
        /// Whether the file is a database, which has a write-ahead log and an index beside it.
        var isDatabase: Bool
    }

    /// The restoration of a store whose items are written one by one.
    struct Items: Codable {
        /// The kind of store; nil in journals of older versions, which supported only ``formerKind``.
        var kind: String?
        var scope: String
        /// Whether to move existing items that are not in the backup to the namespace `kept`.
        var movesOthers: Bool
        /// The namespace that keeps the existing items which the restore replaces or moves.
        var kept: String

        /// The kind of store in a journal that has no kind.
        static let formerKind = "keychain"
    }

    /// The backup's id.
    var backup: String
    var steps: [Step]
    var items: [Items]
    /// The names of stores, for the report of the restore.
    var restored: [String]
    var unchanged: [String]
    var givenToOtherKey: [String]

    /// A copy of the journal with every path converted by a function.
    private func renaming(_ form: (String) -> String) -> RestoreJournal {
        var journal = self
        journal.steps = steps.map {
            Step(draft: form($0.draft), target: form($0.target), kept: form($0.kept), isDatabase: $0.isDatabase)
        }
        return journal
    }

    /// Reads the journal of an unfinished restore; nil if there is none. A stored path can begin with a placeholder
    /// such as `<data>`, which is replaced by the folder in `directories`.
    static func read(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) -> RestoreJournal? {
        let path = RestoreMark.path(directories)
        guard let contents = try onDisk({ () throws(FileError) in try runtime.files.read(path) }) else { return nil }
        let paths = PortablePaths(directories, runtime.files)
        do { return try JSONDecoder().decode(RestoreJournal.self, from: Data(contents.bytes)).renaming(paths.path) } catch {
            throw BackendError(.corrupted, "The file \(path), which an interrupted restore left, is damaged. Nothing was changed.")
        }
    }

    /// Writes the journal; durable when this returns. Before that, the directory entries of the drafts are made
    /// durable. Otherwise a power cut could remove a draft, and a missing draft means that it has already replaced its
    /// target.
    func write(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) {
        let path = RestoreMark.path(directories)
        let portable = renaming(PortablePaths(directories, runtime.files).portable)
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(portable)) } catch { throw BackendError(.failed, "The restore could not be noted.") }
        let temporary = ".restore.json.tmp"
        do throws(FileError) {
            for directory in Set(steps.map { parentDirectory(of: $0.draft) }).sorted() { try runtime.files.synchronizeDirectory(directory) }
            try runtime.files.createDirectory(parentDirectory(of: path))
            // Remove the temporary file of a restore that was killed. The lock of the drafts is held, so no process is using it.
            try runtime.files.remove("\(parentDirectory(of: path))/\(temporary)")
        } catch { throw error.backendError() }
        do throws(DurableReplaceError) {
            try runtime.files.replaceDurably(path, with: bytes, temporaryName: temporary)
        } catch { throw error.error.backendError(outcome: error.mayBeReplaced ? .unknown : .notApplied) }
    }

    /// Renames the drafts to their targets. After an interruption, a repeated call continues with the remaining drafts.
    func putFilesInPlace(_ files: any FileSystem) throws(FileError) {
        for step in steps {
            // A missing draft was already renamed to its target.
            guard try files.status(step.draft) != nil else { continue }
            if try files.status(step.target) != nil { try files.rename(step.target, to: step.kept) }
            if step.isDatabase {
                if try files.status(step.target + "-wal") != nil { try files.rename(step.target + "-wal", to: step.kept + "-wal") }
                try files.remove(step.target + "-shm")
                try files.synchronizeDirectory(parentDirectory(of: step.target))
            }
            try files.rename(step.draft, to: step.target)
        }
        for directory in Set(steps.map { parentDirectory(of: $0.target) }).sorted() { try files.synchronizeDirectory(directory) }
    }
}
