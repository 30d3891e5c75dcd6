import BackendContract
import BackendRuntime
import Foundation
import LocalData

/// The owner of the folders of a configuration: the application, as the options name it, and the user.
struct FolderOwner {
    private let configuration: StorageConfiguration

    init(_ configuration: StorageConfiguration) { self.configuration = configuration }

    /// Throws if a command would change the files of another user, or create some in a folder of another user.
    /// - Throws: ``StorageError`` with `untrusted`.
    func requireUser() async throws {
        let (paths, files) = (try paths, configuration.runtime.files)
        try await translatingErrors(key: paths.first ?? "") { () throws(BackendError) in try files.requireOwned(paths) }
    }

    /// The owner in words, for the question before a loss.
    var sentence: String {
        let user = (try? paths).flatMap { paths in paths.first.flatMap { try? configuration.runtime.files.status($0)?.owner } } ?? geteuid()
        let application = configuration.recordsOwner ? "the application \(configuration.applicationID), " : ""
        return "The owner is \(application)user \(ShellCommand.describedUser(user))."
    }

    /// The folders of the configuration. Of a folder that does not exist, the folder above in which it would be created.
    private var paths: [String] {
        get throws {
            guard !configuration.isInMemory, let directories = try configuration.directories else { return [] }
            return [directories.data, directories.preferences, directories.state, directories.locks].map { path in
                var path = path
                while path != "/", !FileManager.default.fileExists(atPath: path) { path = parentDirectory(of: path) }
                return path
            }
        }
    }
}

extension ForgottenStore {
    /// The store with its owner, in words.
    var line: String {
        let what = name.map(DomainWords.text(ofStore:)) ?? path ?? ""
        let application = application.map { "application \($0), " } ?? "any application, "
        return "\(what): \(application)user \(ShellCommand.describedUser(user))"
    }
}
