#if SQLite
    import BackendContract
    import BackendRuntime
    import SQLiteBackend
    import Sealing

    /// A folder of sealed databases: those of the domain `.encryptedSQLite`, or the vaults that stand in for a keyring.
    enum SealedFolder: String, CaseIterable {
        case databases, vaults

        private func path(_ directories: StorageDirectories) -> String { "\(directories.data)/\(rawValue)" }

        /// The kind of store that the databases in this folder are.
        private var kind: String {
            switch self {
            case .databases: "sqlite"
            case .vaults: "vault"
            }
        }

        /// Makes the store of a database in this folder.
        /// - Parameters:
        ///   - name: The database's name.
        ///   - scope: The scope of its domain.
        ///   - reference: The source of its key.
        ///   - parts: What stores are made with.
        func makeStore(
            _ name: String, of scope: String, _ reference: KeySourceReference, _ parts: StoreParts
        ) throws -> any StorageBackend {
            let configuration = parts.configuration
            let directories = try configuration.requiredDirectories()
            let path = try SQLiteStore.path(ofDatabase: name, in: path(directories))
            let source = try parts.keySource(reference)
            return SQLiteStore(
                path: path,
                lockPath: SQLiteStore.lockPath(forDatabaseAt: path, in: directories.locks, files: configuration.runtime.files),
                context: configuration.storeContext(kind, scope), keys: parts.keys, source: source,
                otherSealedIDs: { [sealedIDs = parts.sealedIDs] () throws(BackendError) in try await sealedIDs(source) },
                anchor: self == .databases ? try parts.freshnessAnchor(scope) : nil, deadline: configuration.deadlines.files,
                runtime: configuration.runtime)
        }

        /// The ids of the keys of a source that sealed databases in any of the folders.
        static func sealedIDs(of source: any KeySource, _ configuration: StorageConfiguration) async throws(BackendError) -> Set<[UInt8]> {
            if configuration.isInMemory { return [] }
            let directories: StorageDirectories
            do { directories = try configuration.requiredDirectories() } catch {
                throw BackendError(.unavailable, (error as? StorageError)?.message ?? "The configuration has no directories.")
            }
            var ids: Set<[UInt8]> = []
            for folder in allCases {
                ids.formUnion(
                    try await SQLiteStore.sealingKeyIDs(
                        inDatabasesIn: folder.path(directories), sealedFrom: source, locks: directories.locks,
                        deadline: configuration.deadlines.files, runtime: configuration.runtime))
            }
            return ids
        }
    }
#endif
