import BackendContract
import BackendRuntime
import Foundation
import Sealing

/// The intention to forget stores. The file exists from before the first store is destroyed until after the last one, so
/// that a killed process does not leave a part. While it exists, no store is opened.
struct ForgetMark: Codable, Hashable {
    /// The domains to forget, each with its scope; nil for everything.
    var domains: Set<StorageDomain>?
    /// If everything is forgotten, the domains that the program has used or registered, also in earlier runs. The ledger, which records
    /// them, is destroyed, too.
    var recorded: Set<StorageDomain>?
    /// The application of the stores. It has checked that they belong to it, and only it completes the call. Nil in the mark of an earlier
    /// release of the library.
    var application: String?
    /// The application id, which is also the default keyring service.
    var applicationID: String?

    /// The path of the file.
    static func path(_ directories: StorageDirectories) -> String { "\(directories.data)/forget.json" }

    /// Returns a mark for the stores of both marks.
    func union(_ other: ForgetMark) -> ForgetMark {
        guard let domains, let more = other.domains else {
            return ForgetMark(
                domains: nil, recorded: (recorded ?? []).union(other.recorded ?? []), application: other.application,
                applicationID: other.applicationID)
        }
        return ForgetMark(domains: domains.union(more), application: other.application, applicationID: other.applicationID)
    }

    /// Throws if another application wrote the mark. With another application id, a call would destroy other stores and keyring items.
    /// - Throws: ``BackendError`` with `wrongContext`.
    func requireOwner(_ configuration: StorageConfiguration) throws(BackendError) {
        guard let application, application != configuration.sealedApplication else { return }
        throw BackendError(
            .wrongContext,
            "The application \(application) began to forget its stores here, and was interrupted. Until it completes that, no store opens. Start it, or run localdata forget with its application id. Nothing was changed."
        )
    }

    /// Reads the mark; nil if nothing remains to be forgotten.
    static func read(_ directories: StorageDirectories, _ files: any FileSystem) throws(BackendError) -> ForgetMark? {
        let path = path(directories)
        guard let contents = try onDisk({ () throws(FileError) in try files.read(path) }) else { return nil }
        do { return try JSONDecoder().decode(ForgetMark.self, from: Data(contents.bytes)) } catch {
            throw BackendError(
                .corrupted, "The file \(path) is damaged, so it is unknown which stores must be forgotten. Nothing was changed.")
        }
    }

    /// Writes the mark. It is durable when the call returns.
    func write(_ directories: StorageDirectories, _ files: any FileSystem) throws(BackendError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let bytes = try? encoder.encode(self) else { throw BackendError(.failed, "The stores to forget could not be noted.") }
        do throws(FileError) {
            try files.createDirectory(directories.data)
            try files.remove("\(directories.data)/\(Self.temporaryName)")
        } catch { throw error.backendError() }
        do throws(DurableReplaceError) {
            try files.replaceDurably(Self.path(directories), with: Array(bytes), temporaryName: Self.temporaryName)
        } catch { throw error.error.backendError(outcome: error.mayBeReplaced ? .unknown : .notApplied) }
    }

    private static let temporaryName = ".forget.json.tmp"

    /// Throws if a process was killed while it forgot stores.
    /// - Throws: ``StorageError`` with `unavailable` and ``StorageError/isUnfinishedForgetting``.
    static func requireNone(_ configuration: StorageConfiguration) throws {
        guard let directories = try configuration.directories else { return }
        let path = path(directories)
        let found = try RestoreMark.translatingErrors(key: "forget") { () throws(FileError) in
            try configuration.runtime.files.status(path)
        }
        if found != nil { throw StorageError.unfinishedForgetting }
    }
}

extension StorageConfiguration {
    /// Throws if stores must be forgotten before they can be restored: the forgetting would destroy what was restored.
    /// - Throws: ``StorageError`` with `unavailable`.
    package func requireNoForgetting() throws {
        do { try ForgetMark.requireNone(self) } catch let error as StorageError where error.isUnfinishedForgetting {
            throw StorageError(
                StorageError.unavailable, key: "restore",
                "Stores of this program are being forgotten, or a process was killed while it did that. Any other call of the program completes it. Restore the backup then; nothing was changed."
            )
        }
    }
}

/// The cause of an error: stores must be forgotten first.
private struct UnfinishedForgetting: Error {}

extension StorageError {
    /// The error of a call that found stores which must be forgotten first.
    static var unfinishedForgetting: StorageError {
        StorageError(
            StorageError.unavailable, key: "forget",
            "Another process forgets stores of this program, or was killed while it did. Try again: the call then completes that first.",
            underlying: UnfinishedForgetting())
    }

    /// Whether the error says that stores must be forgotten first.
    package var isUnfinishedForgetting: Bool { underlying is UnfinishedForgetting }
}
