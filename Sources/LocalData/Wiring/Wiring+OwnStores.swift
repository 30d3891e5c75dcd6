import BackendContract
import DefaultsBackend
import MemoryBackend

/// The library's own stores: the ledger's, the quarantine's and that of the witnesses. They need no sealing key, so they can be made before there is any.
extension Wiring {
    /// The store of the migration ledger.
    /// - Parameter isRestoring: Whether it opens although a restore is unfinished: for the restore itself.
    static func ledgerStore(_ configuration: StorageConfiguration, isRestoring: Bool = false) -> OwnStore {
        OwnStore { try makeOwnStore("ledger", configuration, isRestoring: isRestoring) { "\($0.state)/ledger.plist" } }
    }

    /// The store of the quarantine.
    static func quarantineStore(_ configuration: StorageConfiguration) -> OwnStore {
        OwnStore { try makeOwnStore("quarantine", configuration) { "\($0.data)/quarantine/quarantine.plist" } }
    }

    /// The store of the witnesses.
    static func witnessStore(_ configuration: StorageConfiguration) -> OwnStore {
        OwnStore { try makeOwnStore("witness", configuration, witnessPath) }
    }

    /// Where the list of the witnesses is.
    static func witnessPath(_ directories: StorageDirectories) -> String { "\(directories.data)/witness.plist" }

    /// The copies of damaged property lists. A configuration without folders has none; one whose folders are unknown says so when it is asked.
    static func damagedFiles(_ configuration: StorageConfiguration) -> DamagedFiles {
        guard !configuration.isInMemory else { return .none }
        @Sendable func copies() throws(BackendError) -> PropertyListCopies? {
            do {
                guard let directories = try configuration.directories else { return nil }
                return PropertyListCopies(
                    directory: "\(directories.data)/quarantine", deadline: configuration.deadlines.files, runtime: configuration.runtime)
            } catch {
                throw BackendError(.unavailable, (error as? StorageError)?.message ?? "The configuration has no directories.")
            }
        }
        return DamagedFiles(
            list: { () throws(BackendError) in
                try await copies()?.list().map {
                    DamagedFiles.Entry(id: $0.name, place: "\(StorageDomain.userDefaults(suite: $0.suite))", since: $0.since)
                } ?? []
            }, content: { (id) throws(BackendError) in try await copies()?.content(of: id) },
            remove: { (id) throws(BackendError) in try await copies()?.remove(id) ?? false })
    }

    private static func makeOwnStore(
        _ name: String, _ configuration: StorageConfiguration, isRestoring: Bool = false, _ path: (StorageDirectories) -> String
    ) throws -> any StorageBackend {
        if let make = configuration.makeOwnStore { return try make(name) }
        switch configuration.place {
        case .refused(let why): throw StorageError(StorageError.unavailable, key: name, why)
        case .memory(let world):
            let domain = StorageDomain.userDefaults(suite: "LocalData.\(name)")
            return InMemoryStore.standIn(for: domain, medium: world.medium(domain), runtime: configuration.runtime)
        default:
            if !isRestoring { try RestoreMark.requireNone(configuration) }
            return try DefaultsProvider.makeStore(at: path(try configuration.requiredDirectories()), isPrivate: true, configuration)
        }
    }
}
