import BackendContract
import BackendRuntime
package import Sealing

/// The interface of the core for `LocalDataBackup`: the stores of a program, its key sources, and the records that a restore writes
/// or removes. That product uses nothing else of the core, apart from the types that are named here, and the protocols of `Sealing`
/// and `BackendContract` that the stores conform to.
package protocol BackupHost: AnyObject, Sendable {
    var configuration: StorageConfiguration { get }

    /// The stores of the program: those that its keys use or have used, and those in the program's folders.
    /// - Parameters:
    ///   - domains: The domains whose keys the program has used, in this run or in earlier runs.
    ///   - references: The program's key sources.
    /// - Throws: ``StorageError``.
    func backedStores(_ domains: Set<StorageDomain>, _ references: [KeySourceReference]) async throws -> BackedStores

    /// The store that a name in a backup refers to in this configuration.
    /// - Throws: ``StorageError``: `invalidName`; `unavailable` for a store that this build does not have; `unsupported` for an
    ///   unknown kind.
    func backedStore(_ kind: String, _ scope: String) throws -> BackedStore

    /// The key source of a reference.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource

    /// Records in the ledger which key each source has on this machine.
    func notePins(_ keys: [(key: SealingKey, source: String)]) async throws

    /// The path of the presence records, the notes that values exist (witnesses). A restore removes this file, because
    /// the absence of values that the backup lacks is intended.
    var presenceRecordsPath: String { get throws }

    /// Closes everything that was opened.
    func close() async
}

/// The stores of a program.
package struct BackedStores: Sendable {
    package var stores: [BackedStore]
    /// The domains whose stores cannot be copied.
    package var omitted: [StorageDomain]
    /// The names of the stores that the program's keys use.
    package var expected: Set<String>
}

extension BackedStore {
    /// Checks the content of a sealed store in a backup, with the backup's keys; nil for other kinds.
    package static func check(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? {
        try Wiring.backedProvider(of: kind)?.backupCheck(of: kind, keys: keys)
    }
}

extension StorageConfiguration {
    /// The stores of this configuration, for a restore. They can be opened while a restore is unfinished.
    package var restoreHost: any BackupHost {
        Wiring(
            configuration: self, keys: SealingKeys(pins: .none, randomBytes: runtime.randomBytes),
            sealed: SealedContent(self, quarantine: Wiring.quarantineStore(self)), isRestoring: true)
    }
}

extension Wiring: BackupHost {
    /// The providers of all stores that a backup contains.
    static let backedProviders: [any BackedProvider] = providers.compactMap { $0 as? any BackedProvider } + [OwnFiles()]

    static func backedProvider(of kind: String) -> (any BackedProvider)? { backedProviders.first { $0.backedKinds.contains(kind) } }

    package func backedStores(_ domains: Set<StorageDomain>, _ references: [KeySourceReference]) async throws -> BackedStores {
        var found = BackedStores(stores: [], omitted: [], expected: [])
        var served: Set<StorageDomain> = []
        for domain in domains {
            let scoped = StorageDomain(kind: domain.kind, scope: domain.scope ?? configuration.defaultScope(of: domain.kind))
            let provider = Self.provider(of: domain.kind)
            if !configuration.plugsIn(domain.kind), let backed = provider as? any BackedProvider {
                served.insert(scoped)
                if let kind = backed.expectedKind(of: scoped, configuration) {
                    found.expected.insert(BackedStore.name(kind, scoped.scope ?? ""))
                }
            } else if configuration.plugsIn(domain.kind) || provider?.claims.durability != .process {
                found.omitted.append(domain)
            }
        }
        let program = BackedProgram(domains: served, references: references, configuration: configuration)
        for provider in Self.backedProviders {
            for kind in provider.backedKinds {
                for scope in try await provider.scopes(ofBacked: kind, in: program) {
                    found.stores.append(try provider.backedStore(kind, scope, configuration))
                }
            }
        }
        found.stores.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        found.omitted.sort { "\($0)" < "\($1)" }
        return found
    }

    package func backedStore(_ kind: String, _ scope: String) throws -> BackedStore {
        guard let provider = Self.backedProvider(of: kind) else {
            throw StorageError(
                StorageError.unsupported, key: kind,
                "The backup holds a kind of store that this version does not know. Update the program.")
        }
        return try provider.backedStore(kind, scope, configuration)
    }

    package func notePins(_ keys: [(key: SealingKey, source: String)]) async throws {
        let store = Self.ledgerStore(configuration, isRestoring: true)
        let runtime = configuration.runtime
        let ledger = MigrationLedger(
            store, runtime: runtime, counts: LedgerHistory(runtime, version: configuration.applicationVersion))
        for key in keys {
            try await translatingErrors(key: "ledger") { () throws(BackendError) in
                try await ledger.keyPins.record(key.key.identity, key.source)
            }
        }
        await store.close()
    }

    package var presenceRecordsPath: String { get throws { Self.witnessPath(try configuration.requiredDirectories()) } }
}
