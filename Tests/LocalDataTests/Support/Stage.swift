import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport

/// A folder and a private keyring of a test's own: real stores that nobody else sees.
final class Stage: Sendable {
    let directory: TemporaryDirectory
    #if Keyring
        let keyring: PrivateKeyring?
    #endif
    /// The keyring's service: the session is shared by all tests, so every stage has its own.
    let service = "test.\(UUID().uuidString)"

    #if Keyring
        /// - Parameter keyring: Whether the test needs the session's keyring.
        init(keyring: Bool = false) throws {
            directory = try TemporaryDirectory()
            self.keyring = keyring ? try PrivateKeyring.shared() : nil
        }
    #else
        init() throws { directory = try TemporaryDirectory() }
    #endif

    var root: URL { URL(fileURLWithPath: directory.file("root")) }
    var preferences: String { root.path + "/preferences" }

    /// The configuration of a program that keeps everything on this stage.
    var configuration: StorageConfiguration {
        var configuration = StorageConfiguration(root: root, applicationID: service)
        configuration.userDefaultsName = "standard"
        // Suites share few threads and one keyring with its lock, and a call's deadline counts its waiting for both.
        configuration.deadlines.files = .seconds(120)
        configuration.deadlines.keychain = .seconds(120)
        #if Keyring
            if let keyring {
                // The daemon's files are where its own home is, not where the tests' is.
                configuration.runtime.host.environment["XDG_DATA_HOME"] =
                    URL(fileURLWithPath: keyring.keyringsDirectory).deletingLastPathComponent().path
            }
        #endif
        return configuration
    }

    func launch(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
        var configuration = configuration
        change(&configuration)
        return StorageRouter(configuration: configuration)
    }

    /// Writes a property list as another program would: over everything that was there.
    func writePropertyList(_ entries: [String: Any], suite: String = "standard") throws {
        try FileManager.default.createDirectory(atPath: preferences, withIntermediateDirectories: true)
        let data = try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0)
        try data.write(to: URL(fileURLWithPath: "\(preferences)/\(suite).plist"))
    }

    /// The entries of a property list, without the library's own.
    func propertyList(suite: String = "standard") throws -> [String: Any] {
        guard let data = FileManager.default.contents(atPath: "\(preferences)/\(suite).plist") else { return [:] }
        let entries = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any] ?? [:]
        return entries.filter { !$0.key.hasPrefix("LocalData") && !$0.key.hasPrefix("_LocalData") }
    }
}
