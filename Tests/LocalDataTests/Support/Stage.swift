import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport

/// A temporary folder and optionally a private keyring, so that real stores are isolated from other tests.
final class Stage: Sendable {
    let directory: TemporaryDirectory
    #if Keyring
        let keyring: PrivateKeyring?
    #endif
    /// The service of this stage's keyring items. It is unique, because all tests share one keyring session.
    let service = "test.\(UUID().uuidString)"

    #if Keyring
        /// - Parameter keyring: Whether the test needs a keyring.
        init(keyring: Bool = false) throws {
            directory = try TemporaryDirectory()
            self.keyring = keyring ? try PrivateKeyring.shared() : nil
        }
    #else
        init() throws { directory = try TemporaryDirectory() }
    #endif

    var root: URL { URL(fileURLWithPath: directory.file("root")) }
    var preferences: String { root.path + "/preferences" }

    /// The configuration of a program that stores everything on this stage.
    var configuration: StorageConfiguration {
        var configuration = StorageConfiguration(root: root, applicationID: service)
        configuration.userDefaultsName = "standard"
        // Deadlines are long, because they include the time that a test waits for a thread and for the lock of the
        // keyring, which the suites share.
        configuration.deadlines.files = .seconds(120)
        configuration.deadlines.keychain = .seconds(300)
        // On a busy machine, a read that moves a value could otherwise leave the legacy copy for a sweep.
        configuration.runtime.isPatient = true
        #if Keyring
            if let keyring {
                // The keyring daemon stores its files below a separate home folder, not below the one of the tests.
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

    /// Writes a property list as another program would: it replaces the whole file.
    func writePropertyList(_ entries: [String: Any], suite: String = "standard") throws {
        try FileManager.default.createDirectory(atPath: preferences, withIntermediateDirectories: true)
        let data = try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0)
        try data.write(to: URL(fileURLWithPath: "\(preferences)/\(suite).plist"))
    }

    /// Returns the entries of a property list without those that the library reserves for itself.
    func propertyList(suite: String = "standard") throws -> [String: Any] {
        guard let data = FileManager.default.contents(atPath: "\(preferences)/\(suite).plist") else { return [:] }
        let entries = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any] ?? [:]
        return entries.filter { !$0.key.hasPrefix("LocalData") && !$0.key.hasPrefix("_LocalData") }
    }
}
