import BackendContract
import BackendRuntime
package import Sealing

/// The interface of the core for the product `LocalDataBackup`. It provides the stores of a program, its key sources,
/// and the internal records that a restore writes or removes.
///
/// Apart from this protocol and the types in it, that product uses only the protocols of `Sealing` and
/// `BackendContract` to which the stores conform.
package protocol BackupHost: AnyObject, Sendable {
    var configuration: StorageConfiguration { get }

    /// The stores of the program: those that its keys use or have used, and those in the program's folders.
    /// - Parameters:
    ///   - domains: The domains whose keys the program has used, in this run or in earlier runs.
    ///   - references: The program's key sources.
    /// - Throws: ``StorageError``.
    func backedStores(_ domains: Set<StorageDomain>, _ references: [KeySourceReference]) async throws -> BackedStores

    /// Returns the store of this configuration that has the kind and the scope of a store in a backup.
    /// - Throws: ``StorageError``: `invalidName`; `unavailable` for a store that this build does not have;
    ///   `unsupported` for an unknown kind.
    func backedStore(_ kind: String, _ scope: String) throws -> BackedStore

    /// Returns the key source that a reference names.
    func keySource(_ reference: KeySourceReference) throws -> any KeySource

    /// Writes to the migration ledger which key each key source has on this machine.
    func notePins(_ keys: [(key: SealingKey, source: String)]) async throws

    /// The path of the list of witnesses, the notes that values exist. A restore removes this file. Otherwise a value
    /// that the backup lacks would count as lost.
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
    /// Returns the check for the contents of sealed stores in a backup; nil for kinds that are not sealed as a whole.
    /// - Parameter keys: The keys of the backup.
    package static func check(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? {
        try Wiring.backedProvider(of: kind)?.backupCheck(of: kind, keys: keys)
    }
}

extension StorageConfiguration {
    /// Returns the access to the stores of this configuration for a restore. Stores can be opened while the restore is
    /// unfinished.
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
            let provider = configuration.provider(of: domain.kind)
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
