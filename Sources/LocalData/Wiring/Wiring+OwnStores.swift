package import BackendContract
import BackendRuntime
import DefaultsBackend
import MemoryBackend
import Sealing

/// The library's internal stores: the ledger, the quarantine, and the witnesses (the records that values exist). They
/// need no sealing key, so they can be created before any key exists.
extension Wiring {
    /// Returns the migration ledger: its store, that of the pins, and the history of migrations.
    /// - Parameter isRestoring: As in ``ledgerStore(_:isRestoring:)``. The ledger then records no application.
    static func ledger(_ configuration: StorageConfiguration, isRestoring: Bool = false) -> MigrationLedger {
        let store = ledgerStore(configuration, isRestoring: isRestoring)
        let counts = LedgerHistory(
            configuration.runtime, version: configuration.applicationVersion, events: configuration.events,
            log: historyLog(configuration, store))
        let records = !isRestoring && !configuration.isInMemory && configuration.recordsOwner
        // A rehearsal has no log of the history, and must not write to the file.
        let large = isRestoring ? nil : earlierLedger(configuration)
        return MigrationLedger(
            store, pins: pinStore(configuration, isRestoring: isRestoring), counts: counts,
            application: records ? configuration.sealedApplication : nil
        ) { (ledger) throws(BackendError) in try await ledger.foldEarlier(ledger.counts.log == nil ? nil : large) }
    }

    /// Returns the store of the pins, the recorded identities of sealing keys. Nil if they are in the ledger, which is so on a
    /// server: a read of one entry there costs the same, whatever the number of entries.
    /// - Parameter isRestoring: As in ``ledgerStore(_:isRestoring:)``.
    static func pinStore(_ configuration: StorageConfiguration, isRestoring: Bool = false) -> OwnStore? {
        if configuration.makeOwnStore != nil { return nil }
        return OwnStore { try makeOwnStore("pins", configuration, isRestoring: isRestoring) { "\($0.state)/pins.plist" } }
    }

    /// Returns the log of the history of migrations.
    static func historyLog(_ configuration: StorageConfiguration, _ ledger: OwnStore) -> any HistoryLog {
        if configuration.isInMemory || configuration.makeOwnStore != nil { return HistoryEntries(ledger, configuration.runtime) }
        return HistoryFile(
            deadline: configuration.deadlines.files, runtime: configuration.runtime, pathsInState("history.log", configuration))
    }

    /// Returns the access to a large ledger of an earlier release; nil if the ledger is no file.
    static func earlierLedger(_ configuration: StorageConfiguration) -> EarlierLedger? {
        if configuration.isInMemory || configuration.makeOwnStore != nil { return nil }
        return EarlierLedger(paths: pathsInState("ledger.plist", configuration), runtime: configuration.runtime)
    }

    private static func pathsInState(
        _ name: String, _ configuration: StorageConfiguration
    ) -> @Sendable () throws(BackendError) -> HistoryFile.Paths {
        { () throws(BackendError) in
            do {
                // Like the internal lists, these files are refused while a restore or a call that forgets is unfinished.
                try RestoreMark.requireNone(configuration)
                try ForgetMark.requireNone(configuration)
                return try statePaths(name, configuration)
            } catch { throw BackendError(.unavailable, "The file \(name) cannot be used: \(error)") }
        }
    }

    /// Returns the paths of a file in the folder of the ledger, and of its lock file.
    static func statePaths(_ name: String, _ configuration: StorageConfiguration) throws -> HistoryFile.Paths {
        let directories = try configuration.requiredDirectories()
        let file = "\(directories.state)/\(name)"
        return (file, PropertyListStore.lockPath(forPropertyListAt: file, in: directories.locks, files: configuration.runtime.files))
    }

    /// Returns the store of the migration ledger.
    /// - Parameter isRestoring: Whether the store can be opened while a restore is unfinished. The restore itself needs
    ///   this.
    static func ledgerStore(_ configuration: StorageConfiguration, isRestoring: Bool = false) -> OwnStore {
        OwnStore { try makeOwnStore("ledger", configuration, isRestoring: isRestoring) { "\($0.state)/ledger.plist" } }
    }

    /// Returns the store of the quarantine.
    static func quarantineStore(_ configuration: StorageConfiguration) -> OwnStore {
        OwnStore { try makeOwnStore("quarantine", configuration) { "\($0.data)/quarantine/quarantine.plist" } }
    }

    /// Returns the store of the witnesses.
    static func witnessStore(_ configuration: StorageConfiguration) -> OwnStore {
        OwnStore { try makeOwnStore("witness", configuration, witnessPath) }
    }

    /// Returns the store of the imported values' names: `LocalDataImporters` marks there which values of a read-only source were
    /// moved. It survives `forgetEverything()`, so that forgotten values are not imported again.
    package static func importStore(_ configuration: StorageConfiguration) throws -> any StorageBackend {
        // The caller has checked that no restore is unfinished. A call that forgets all stores marks values here.
        try makeOwnStore("imports", configuration, isRestoring: true, importPath)
    }

    /// The names of the internal stores.
    package static let ownStoreNames = ["ledger", "quarantine", "witness", "imports"]

    /// Returns the internal stores that are encrypted as a whole, which are those on a server. The caller closes them.
    func sealedOwnStores() throws -> [(name: String, store: any StorageBackend & RecipientStore)] {
        guard let make = configuration.makeOwnStore else { return [] }
        var found: [(name: String, store: any StorageBackend & RecipientStore)] = []
        for name in Self.ownStoreNames {
            if let store = try make(name, configuration) as? any StorageBackend & RecipientStore { found.append((name, store)) }
        }
        return found
    }

    /// Returns the path of the list of imported values.
    static func importPath(_ directories: StorageDirectories) -> String { "\(directories.data)/imports.plist" }

    /// Returns the path of the list of witnesses.
    static func witnessPath(_ directories: StorageDirectories) -> String { "\(directories.data)/witness.plist" }

    /// Returns the access to copies of damaged property lists. A configuration without folders has none. If the folders
    /// are unknown, each access throws.
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
        if let make = configuration.makeOwnStore { return try make(name, configuration) }
        switch configuration.place {
        case .refused(let why): throw StorageError(StorageError.unavailable, key: name, why)
        case .memory(let world):
            let domain = StorageDomain.userDefaults(suite: "LocalData.\(name)")
            return InMemoryStore.standIn(for: domain, medium: world.medium(domain), runtime: configuration.runtime)
        default:
            if !isRestoring {
                try RestoreMark.requireNone(configuration)
                try ForgetMark.requireNone(configuration)
            }
            return try DefaultsProvider.makeStore(at: path(try configuration.requiredDirectories()), isPrivate: true, configuration)
        }
    }
}
