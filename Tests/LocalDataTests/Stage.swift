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
        // All suites run at once, and share one keyring and its lock: on a busy machine there is a queue before everything.
        configuration.deadlines.files = .seconds(120)
        configuration.deadlines.keyring = .seconds(120)
        // Many tests share few threads, and a call's deadline counts its waiting for one.
        configuration.deadlines.files = .seconds(120)
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

    /// Every file below the stage that holds some bytes, as a search of the disk would find them.
    func files(holding text: String) throws -> [String] {
        let needles = [
            Data(text.utf8), Data(Data(text.utf8).base64EncodedString().utf8),
            Data(hexadecimalText(of: text.utf8).utf8),
        ]
        var found: [String] = []
        let all = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        while let url = all?.nextObject() as? URL {
            guard let data = try? Data(contentsOf: url) else { continue }
            if needles.contains(where: { data.range(of: $0) != nil }) { found.append(url.lastPathComponent) }
        }
        return found
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
