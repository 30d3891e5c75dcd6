import BackendContract
import BackendRuntime
import Foundation
import LocalData

/// What a restore is about to do, written before it puts the first store in its place and removed after the last: see ``RestoreMark``.
struct RestoreJournal: Codable {
    /// A file that gets its place.
    struct Step: Codable {
        var draft: String
        var target: String
        /// Where the file goes that is at the target.
        var kept: String
        /// Whether it is a database, with files beside it.
        var isDatabase: Bool
    }

    /// Entries that are put back one by one.
    struct Items: Codable {
        /// The kind of store; nil in journals of before there was another one.
        var kind: String?
        var scope: String
        /// Whether entries go aside that the backup does not have.
        var movesOthers: Bool
        /// The namespace for what goes aside.
        var kept: String

        /// The kind of store that a journal without one means.
        static let formerKind = "keychain"
    }

    /// The backup's id.
    var backup: String
    var steps: [Step]
    var items: [Items]
    /// What the report says.
    var restored: [String]
    var unchanged: [String]
    var givenToOtherKey: [String]

    /// The same journal with its paths in another form.
    private func renaming(_ form: (String) -> String) -> RestoreJournal {
        var journal = self
        journal.steps = steps.map {
            Step(draft: form($0.draft), target: form($0.target), kept: form($0.kept), isDatabase: $0.isDatabase)
        }
        return journal
    }

    /// The journal of a restore that has not ended, with the paths that it means here.
    static func read(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) -> RestoreJournal? {
        let path = RestoreMark.path(directories)
        let contents: FileContents?
        do throws(FileError) { contents = try runtime.files.read(path) } catch { throw error.backendError() }
        guard let contents else { return nil }
        let paths = PortablePaths(directories, runtime.files)
        do { return try JSONDecoder().decode(RestoreJournal.self, from: Data(contents.bytes)).renaming(paths.path) } catch {
            throw BackendError(.corrupted, "The file \(path), which an interrupted restore left, is damaged. Nothing was changed.")
        }
    }

    /// Writes the journal; durable when it returns. So are the names of the drafts before it: without its draft, a file is taken for one that has its place.
    func write(_ directories: StorageDirectories, _ runtime: Runtime) throws(BackendError) {
        let path = RestoreMark.path(directories)
        let portable = renaming(PortablePaths(directories, runtime.files).portable)
        let bytes: [UInt8]
        do { bytes = Array(try JSONEncoder().encode(portable)) } catch { throw BackendError(.failed, "The restore could not be noted.") }
        let temporary = ".restore.json.tmp"
        do throws(FileError) {
            for directory in Set(steps.map { parentDirectory(of: $0.draft) }).sorted() { try runtime.files.synchronizeDirectory(directory) }
            try runtime.files.createDirectory(parentDirectory(of: path))
            // What a restore left that was killed: the lock of the drafts is held.
            try runtime.files.remove("\(parentDirectory(of: path))/\(temporary)")
        } catch { throw error.backendError() }
        do throws(DurableReplaceError) {
            try runtime.files.replaceDurably(path, with: bytes, temporaryName: temporary)
        } catch { throw error.error.backendError() }
    }

    /// Puts the files in their places. Repeated after it was interrupted, it goes on where it stopped.
    func putFilesInPlace(_ files: any FileSystem) throws(FileError) {
        for step in steps {
            // Without its draft, the file has its place.
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
