import Synchronization

#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Sealing
    import TestSupport
    import Testing

    /// Routers with a value in every kind of store, the file of a backup, and empty folders to restore into.
    struct BackupStage {
        let stage: Stage
        let kit: URL
        let secret = BackupKey.passphrase("correct horse battery staple", PassphraseCost(logN: 1, blockSize: 1, parallelism: 1))

        static let marker = "a-secret-that-stands-nowhere"

        #if Keyring
            init(keyring: Bool = false) throws {
                stage = try Stage(keyring: keyring)
                kit = URL(fileURLWithPath: stage.directory.file("kit"))
            }
        #else
            init() throws {
                stage = try Stage()
                kit = URL(fileURLWithPath: stage.directory.file("kit"))
            }
        #endif

        let plain = textKey("plain", .userDefaults)
        let sealed = textKey("sealed", .userDefaults, .encrypted)
        let row = textKey("row", .encryptedSQLite(database: "main"))
        let vault = textKey("vault", .keychain)
        var all: [StorageKey<String>] { [plain, sealed, row, vault] }

        func configuration(_ root: String = "root", _ files: (any FileSystem)? = nil) -> StorageConfiguration {
            var configuration = StorageConfiguration(
                root: URL(fileURLWithPath: stage.directory.file(root)), applicationID: stage.service)
            configuration.userDefaultsName = "standard"
            configuration.keychain = .sealedVault(.configured)
            configuration.deadlines = Deadlines(files: .seconds(120), keychain: .seconds(120))
            configuration.runtime.host.environment = stage.configuration.runtime.host.environment
            configuration.runtime.isPatient = true
            if let files { configuration.runtime.files = files }
            return configuration
        }

        func router(_ root: String = "root", _ files: (any FileSystem)? = nil) -> StorageRouter {
            StorageRouter(configuration: configuration(root, files))
        }

        /// Gives every key a value: the text, followed by the name of the key.
        func fill(_ root: String = "root", _ text: String = BackupStage.marker) async throws {
            let router = router(root)
            for key in all { try await router.set("\(text) \(key.name)", for: key) }
            try await router.shutdown()
        }

        /// Reads the keys with a new router.
        func values(_ root: String, keys: [StorageKey<String>]? = nil) async throws -> [String?] {
            let router = router(root)
            var values: [String?] = []
            do {
                for key in keys ?? all { values.append(try await router.value(for: key)) }
            } catch {
                try? await router.shutdown()
                throw error
            }
            // Close all files, because a test replaces the folder next.
            try await router.shutdown()
            return values
        }

        func expected(_ text: String = BackupStage.marker) -> [String?] { all.map { "\(text) \($0.name)" } }

        /// Backs up every store.
        @discardableResult
        func backup(_ root: String = "root", _ files: (any FileSystem)? = nil, to file: URL? = nil) async throws -> BackupReport {
            let router = router(root, files)
            do {
                let report = try await router.backup(
                    to: file ?? kit, openedBy: [secret], including: [.userDefaults, .keychain, .encryptedSQLite(database: "main")])
                try await router.shutdown()
                return report
            } catch {
                try? await router.shutdown()
                throw error
            }
        }

        @discardableResult
        func restore(
            into root: String, _ files: (any FileSystem)? = nil, replacing: Set<String> = [], from file: URL? = nil
        ) async throws -> RestoreReport {
            try await StorageRouter.restore(from: file ?? kit, with: secret, into: configuration(root, files), replacing: replacing)
        }

        /// Returns the content of every file below a folder, by path. Lock files, `-shm` files and empty files are left
        /// out.
        func files(_ root: String) throws -> [String: Data] {
            let folder = stage.directory.file(root)
            var files: [String: Data] = [:]
            for name in (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
            where !name.hasSuffix(".lock") && !name.hasSuffix("-shm") {
                files[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
            }
            return files.filter { !$0.value.isEmpty }
        }
    }
#endif

/// The state of a hook, the closure that `HookedFiles` calls before each file operation. It lets the hook act only
/// once, and keeps the task that the hook starts.
final class Writes: Sendable {
    private let state = Mutex<(isOver: Bool, task: Task<Void, any Error>?)>((false, nil))

    /// Whether this is the first read of the property. Every later read returns false.
    var isFirst: Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }
    var isOver: Bool { state.withLock { $0.isOver } }
    var task: Task<Void, any Error>? {
        get { state.withLock { $0.task } }
        set { state.withLock { $0.task = newValue } }
    }
}
