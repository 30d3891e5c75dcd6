#if SQLite
    import BackendContract
    import BackendRuntime
    import SQLiteBackend
    import Sealing

    /// A folder of encrypted databases: those of the domain `.encryptedSQLite`, the vaults that replace a keyring, or
    /// the caches.
    enum SealedFolder: String {
        case databases, vaults, caches

        /// Returns the path of this folder.
        /// - Throws: `unavailable` if there is no folder for caches, or if it is the folder of other databases: a cache deletes
        ///   a database that does not open.
        private func path(_ directories: StorageDirectories, _ files: any FileSystem) throws(BackendError) -> String {
            guard self == .caches else { return "\(directories.data)/\(rawValue)" }
            guard let caches = directories.caches else {
                throw BackendError(
                    .unavailable,
                    "The configuration names no folder for caches. Name one with StorageDirectories.caching(in:) of LocalDataCaches. Nothing was read or written."
                )
            }
            let others = [SealedFolder.databases, .vaults].map { files.resolve("\(directories.data)/\($0.rawValue)") }
            guard !others.contains(files.resolve(caches)) else {
                throw BackendError(
                    .unavailable,
                    "The folder for caches has the databases of the program. Name another one with StorageDirectories.caching(in:). Nothing was read or written."
                )
            }
            return caches
        }

        /// Returns the path of a database in this folder, and the object that knows the locks of its writers.
        func locked(_ name: String, _ configuration: StorageConfiguration) throws -> (path: String, locks: any KeyedBackupStore) {
            let directories = try configuration.requiredDirectories()
            let path = try SQLiteStore.path(ofDatabase: name, in: path(directories, configuration.runtime.files))
            let lock = SQLiteStore.lockPath(forDatabaseAt: path, in: directories.locks, files: configuration.runtime.files)
            let locks = DatabaseBackup(path: path, lock: lock, deadline: configuration.deadlines.files, runtime: configuration.runtime)
            return (configuration.runtime.files.resolve(path), locks)
        }

        /// The kind of store in this folder. Each seal includes it, so a store of one kind does not open as another
        /// kind.
        private var kind: String {
            switch self {
            case .databases: "sqlite"
            case .vaults: "vault"
            case .caches: "cache"
            }
        }

        /// Returns the domain of a database in this folder.
        private func domain(_ scope: String) -> StorageDomain {
            switch self {
            case .databases: .encryptedSQLite(database: scope)
            case .vaults: .keychain(service: scope)
            case .caches: .cache(scope)
            }
        }

        /// Creates the store of a database in this folder.
        /// - Parameters:
        ///   - name: The database's name.
        ///   - scope: The scope of its domain.
        ///   - reference: The source of its key.
        ///   - parts: The values that stores are created from.
        func makeStore(
            _ name: String, of scope: String, _ reference: KeySourceReference, _ parts: StoreParts
        ) throws -> any StorageBackend {
            let configuration = parts.configuration
            let directories = try configuration.requiredDirectories()
            let path = try SQLiteStore.path(ofDatabase: name, in: path(directories, configuration.runtime.files))
            let source = try parts.keySource(reference)
            return SQLiteStore(
                path: path,
                lockPath: SQLiteStore.lockPath(forDatabaseAt: path, in: directories.locks, files: configuration.runtime.files),
                context: configuration.storeContext(kind, scope), keys: parts.keys, source: source,
                otherSealedIDs: { [sealedIDs = parts.sealedIDs] () throws(BackendError) in try await sealedIDs(source) },
                anchor: self == .caches ? nil : try parts.freshnessAnchor(domain(scope)), deadline: configuration.deadlines.files,
                runtime: configuration.runtime)
        }

        /// Returns the databases in this folder whose data keys are encrypted with keys of a source, with the ids of
        /// these keys.
        func stores(
            of source: any KeySource, _ configuration: StorageConfiguration
        ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
            if configuration.isInMemory { return [:] }
            let directories: StorageDirectories
            do { directories = try configuration.requiredDirectories() } catch {
                throw BackendError(.unavailable, (error as? StorageError)?.message ?? "The configuration has no directories.")
            }
            var found: [StorageDomain: Set<[UInt8]>] = [:]
            let ids = try await SQLiteStore.sealingKeyIDs(
                inDatabasesIn: try path(directories, configuration.runtime.files), sealedFrom: source, locks: directories.locks,
                deadline: configuration.deadlines.files, runtime: configuration.runtime)
            for (name, ids) in ids { found[domain(self == .vaults ? SealedVault.service(of: name) : name)] = ids }
            return found
        }

        /// Returns the applications that the databases in this folder name as their owners.
        func applications(_ configuration: StorageConfiguration) async throws -> Set<String> {
            guard let directories = try configuration.directories else { return [] }
            return try await SQLiteStore.applications(
                ofDatabasesIn: try path(directories, configuration.runtime.files), locks: directories.locks,
                deadline: configuration.deadlines.files, runtime: configuration.runtime)
        }
    }
#endif
