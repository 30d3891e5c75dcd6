import BackendContract
import BackendRuntime
import SQLiteBackend
import Sealing

/// The domain of caches: one encrypted database for each name, in the folder of the caches.
///
/// No backup contains these databases. The search for sealed data before the creation of a key does not include them:
/// if the key of a cache is lost, the cache begins empty.
struct CacheProvider: BackendProvider {
    let kind = StorageDomain.Kind.cache
    /// A cache in memory loses nothing that its program needs, so the claimed durability is that of the process.
    let claims = BackendCapabilities(
        durability: .process, atomicBatch: true, crossProcess: true, protection: .keychain, usefulConcurrency: 64)

    #if SQLite
        func validate(_ scope: String) throws(BackendError) { try SQLiteStore.validateName(scope) }
    #endif

    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? {
        try parts.keySource(SQLiteProvider.source(of: scope, parts.configuration)).protection
    }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        #if SQLite
            return try SealedFolder.caches.makeStore(scope, of: scope, SQLiteProvider.source(of: scope, parts.configuration), parts)
        #else
            return MissingBackend(for: .cache(scope), claims, SQLiteProvider.missing(".encryptedSQLite"))
        #endif
    }

    /// Returns whether the key of a cache is encrypted with a passphrase.
    static func needsPassphrase(_ scope: String, _ configuration: StorageConfiguration) -> Bool {
        let source = SQLiteProvider.source(of: scope, configuration)
        return if case .passphrase = (source == .configured ? configuration.keySource : source).form { true } else { false }
    }

    /// Returns the databases in the folder of the caches, as stores that can name their owner. Symbolic links are left out.
    static func stores(_ configuration: StorageConfiguration) async throws -> [BackedStore] {
        #if SQLite
            guard let folder = try configuration.directories?.caches else { return [] }
            let files = configuration.runtime.files
            let program = BackedProgram(domains: [], references: [], configuration: configuration)
            return try await program.files(in: folder, ending: ".sqlite").sorted().compactMap { name in
                // The folder of other databases is no folder for caches. Its databases are found as what they are.
                guard let store = try? SealedFolder.caches.locked(name, configuration),
                    store.path == "\(files.resolve(folder))/\(name).sqlite"
                else { return nil }
                let form = BackedStore.Form.database(store.path, configuration.keySource, store.locks)
                return BackedStore(kind: StorageDomain.Kind.cache.name, scope: name, store: store.locks, form: form)
            }
        #else
            return []
        #endif
    }

    /// Deletes the database of a cache. The caller has closed its store.
    ///
    /// The database goes first. If the process is killed then, its log is left, which counts as damage, and the next
    /// call deletes it.
    /// - Returns: Whether there was a file of the database.
    static func discard(_ scope: String, _ configuration: StorageConfiguration) async throws -> Bool {
        #if SQLite
            let store = try SealedFolder.caches.locked(scope, configuration)
            let runtime = configuration.runtime
            let deadline = runtime.clock.now.advanced(by: configuration.deadlines.files)
            return try await translatingErrors(key: scope) { () throws(BackendError) in
                let locks = try await StoreLocks([store.locks], deadline: deadline, runtime: runtime)
                defer { locks.release() }
                return try await runtime.makeLane("cache.discard").run(clock: runtime.clock, deadline: deadline, isMutation: true) {
                    (_) throws(BackendError) in
                    do throws(FileError) {
                        var hasFiles = false
                        for path in ["", "-wal", "-journal", "-shm"].map({ store.path + $0 }) where try runtime.files.status(path) != nil {
                            try runtime.files.remove(path)
                            hasFiles = true
                        }
                        return hasFiles
                    } catch { throw error.backendError(outcome: .unknown) }
                }
            }
        #else
            return false
        #endif
    }
}
