import BackendContract
import BackendRuntime
import DefaultsBackend
import KeyringBackend
import SQLiteBackend
import Sealing

/// What a backup copies and a restore puts back.
extension Wiring {
    /// The stores of the program: those that keys lead to or have led to, and those in its own folders.
    /// - Parameters:
    ///   - domains: Where the program's keys lead, in this run and in earlier ones.
    ///   - references: Its key sources.
    /// - Returns: The stores, and the domains that this library cannot copy.
    /// - Throws: ``StorageError``.
    func backedStores(
        _ domains: Set<StorageDomain>, _ references: [KeySourceReference]
    ) async throws -> (stores: [BackedStore], omitted: [StorageDomain]) {
        let directories = try configuration.requiredDirectories()
        var names: [BackedStore.Kind: Set<String>] = [.userDefaults: [configuration.userDefaultsName], .ledger: [""], .quarantine: [""]]
        var omitted: [StorageDomain] = []
        for domain in domains {
            let scope = domain.scope ?? configuration.defaultScope(of: domain.kind)
            switch domain.kind {
            case _ where configuration.plugsIn(domain.kind): omitted.append(domain)
            case .memory: break
            case .userDefaults: names[.userDefaults, default: []].insert(scope)
            case .keychain: if configuration.keychain.vault == nil { names[.keychain, default: []].insert(scope) }
            case .encryptedSQLite: break
            default: omitted.append(domain)
            }
        }
        for reference in references {
            if case .keyring(let service, _) = reference.form {
                names[.keychain, default: []].insert(service ?? configuration.applicationID)
            }
        }
        for (kind, ending, directory) in [
            (BackedStore.Kind.encryptedSQLite, ".sqlite", "\(directories.data)/databases"),
            (.vault, ".sqlite", "\(directories.data)/vaults"),
            (.passphrase, ".passphrase", directories.data), (.copy, ".plist", "\(directories.data)/quarantine"),
            (.userDefaults, ".plist", directories.preferences),
        ] where kind != .userDefaults || directories.ownsPreferences {
            for name in try await list(directory) where name.hasSuffix(ending) && !name.hasPrefix(".") && name != "quarantine.plist" {
                names[kind, default: []].insert(kind == .copy ? name : String(name.dropLast(ending.count)))
            }
        }
        let stores = try names.flatMap { kind, scopes in try scopes.map { try backedStore(kind, $0) } }
        return (stores.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }, omitted.sorted { "\($0)" < "\($1)" })
    }

    private func list(_ directory: String) async throws -> [String] {
        let (runtime, deadline) = (configuration.runtime, configuration.deadlines.files)
        return try await translatingErrors(key: directory) { () throws(BackendError) in
            try await runtime.makeLane("backup.list").run(
                clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false
            ) { (_) throws(BackendError) in
                do throws(FileError) { return try runtime.files.list(directory) ?? [] } catch { throw error.backendError() }
            }
        }
    }

    /// The store that a name in a backup means here.
    /// - Throws: ``StorageError``: `invalidName`; `unavailable` for a store that this build does not have.
    func backedStore(_ kind: BackedStore.Kind, _ scope: String) throws -> BackedStore {
        let directories = try configuration.requiredDirectories()
        func file(_ path: String, lock: String?, _ isDamage: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }) -> BackedStore {
            let store = BackupFile(path: path, lock: lock, runtime: configuration.runtime, isDamage: isDamage)
            return BackedStore(kind: kind, scope: scope, store: store, form: .file(path))
        }
        func list(_ path: String) -> BackedStore {
            file(path, lock: PropertyListStore.lockPath(forPropertyListAt: path, in: directories.locks, files: configuration.runtime.files))
            {
                !PropertyListStore.isPropertyList($0)
            }
        }
        func requireFileName() throws {
            do throws(BackendError) { try PropertyListStore.validateSuiteName(scope) } catch { throw StorageError.from(error, key: scope) }
        }
        switch kind {
        case .userDefaults:
            try requireFileName()
            return list("\(directories.preferences)/\(scope).plist")
        case .ledger: return list("\(directories.state)/ledger.plist")
        case .quarantine: return list("\(directories.data)/quarantine/quarantine.plist")
        case .copy:
            try requireFileName()
            return file("\(directories.data)/quarantine/\(scope)", lock: nil)
        case .passphrase:
            try requireFileName()
            return file("\(directories.data)/\(scope).passphrase", lock: nil)
        case .keychain:
            guard let store = try KeyringProvider.makeItemStore(scope, configuration) else {
                throw StorageError(StorageError.unavailable, key: scope, "This build has no keyring (trait Keyring, Linux only).")
            }
            return BackedStore(kind: kind, scope: scope, store: store, form: .items(store))
        case .encryptedSQLite, .vault:
            #if SQLite
                let folder = kind == .vault ? "vaults" : "databases"
                let path = try translated(scope) { () throws(BackendError) in
                    try SQLiteStore.path(ofDatabase: scope, in: "\(directories.data)/\(folder)")
                }
                let lock = SQLiteStore.lockPath(forDatabaseAt: path, in: directories.locks, files: configuration.runtime.files)
                let store = DatabaseBackup(path: path, lock: lock, deadline: configuration.deadlines.files, runtime: configuration.runtime)
                let named = kind == .vault ? configuration.keychain.vault : configuration.databaseKeySources[scope]
                let reference = named.map { $0 == .configured ? configuration.keySource : $0 } ?? configuration.keySource
                return BackedStore(kind: kind, scope: scope, store: store, form: .database(path, reference))
            #else
                throw StorageError(StorageError.unavailable, key: scope, SQLiteProvider.missing(".encryptedSQLite"))
            #endif
        }
    }

    #if SQLite
        private func translated<R>(_ key: String, _ body: () throws(BackendError) -> R) throws -> R {
            do throws(BackendError) { return try body() } catch { throw StorageError.from(error, key: key) }
        }
    #endif

    /// Checks the content of a database in a backup, with the backup's keys.
    static func databaseCheck(keys: [SealingKey]) throws -> any KeyedBackupCheck {
        #if SQLite
            return DatabaseBackupCheck(keys: keys)
        #else
            throw StorageError(StorageError.unavailable, key: "backup", SQLiteProvider.missing(".encryptedSQLite"))
        #endif
    }

    /// Begins a database that is restored.
    func databaseDraft(at path: String, keys: [SealingKey], own: RestoredKey) async throws -> any RestoreDraft {
        #if SQLite
            return try await translatingErrors(key: path) { () throws(BackendError) in
                try await DatabaseDraft(
                    path: path, keys: keys, own: own, deadline: configuration.deadlines.files, runtime: configuration.runtime)
            }
        #else
            throw StorageError(StorageError.unavailable, key: path, SQLiteProvider.missing(".encryptedSQLite"))
        #endif
    }
}
