import BackendContract
import BackendRuntime
import SQLiteBackend
import Sealing

/// Copies databases to backups and restores them. The scope is the database's name.
extension SQLiteProvider: BackedProvider {
    var backedKinds: [String] { [kind.name] }

    func scopes(ofBacked kind: String, in program: BackedProgram) async throws -> Set<String> {
        try await program.files(in: "\(try program.configuration.requiredDirectories().data)/databases", ending: ".sqlite")
    }

    func expectedKind(of domain: StorageDomain, _ configuration: StorageConfiguration) -> String? { kind.name }

    func backedStore(_ kind: String, _ scope: String, _ configuration: StorageConfiguration) throws -> BackedStore {
        try Self.backedDatabase(kind, scope, in: "databases", configuration.databaseKeySources[scope] ?? .configured, configuration)
    }

    func backupCheck(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? { try Self.backupCheck(keys: keys) }

    /// Returns the check for the contents of databases in a backup.
    /// - Parameter keys: The keys of the backup.
    static func backupCheck(keys: [SealingKey]) throws -> any KeyedBackupCheck {
        #if SQLite
            return DatabaseBackupCheck(keys: keys)
        #else
            throw StorageError(StorageError.unavailable, key: "backup", missing(".encryptedSQLite"))
        #endif
    }

    /// Returns the description of a database in one of the program's folders, for a backup or restore.
    static func backedDatabase(
        _ kind: String, _ scope: String, in folder: String, _ source: KeySourceReference, _ configuration: StorageConfiguration
    ) throws -> BackedStore {
        #if SQLite
            let directories = try configuration.requiredDirectories()
            let path: String
            do throws(BackendError) { path = try SQLiteStore.path(ofDatabase: scope, in: "\(directories.data)/\(folder)") } catch {
                throw StorageError.from(error, key: scope)
            }
            let lock = SQLiteStore.lockPath(forDatabaseAt: path, in: directories.locks, files: configuration.runtime.files)
            let store = DatabaseBackup(path: path, lock: lock, deadline: configuration.deadlines.files, runtime: configuration.runtime)
            let reference = source == .configured ? configuration.keySource : source
            return BackedStore(kind: kind, scope: scope, store: store, form: .database(path, reference, store))
        #else
            throw StorageError(StorageError.unavailable, key: scope, missing(".encryptedSQLite"))
        #endif
    }
}
