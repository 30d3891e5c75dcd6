import BackendContract
import BackendRuntime
package import Sealing

extension StorageConfiguration {
    /// Returns the access to the stores of this configuration for a restore. Stores can be opened while the restore is
    /// unfinished.
    package var restoreWiring: Wiring {
        Wiring(
            configuration: self, keys: SealingKeys(pins: .none, randomBytes: runtime.randomBytes),
            sealed: SealedContent(self, quarantine: Wiring.quarantineStore(self)), isRestoring: true)
    }
}

extension Wiring {
    /// The providers of all stores that a backup contains.
    package static let backedProviders: [any BackedProvider] = providers.compactMap { $0 as? any BackedProvider } + [OwnFiles()]

    /// Records which key each key source has on this machine.
    package func notePins(_ keys: [(key: SealingKey, source: String)]) async throws {
        let ledger = Self.ledger(configuration, isRestoring: true)
        for key in keys {
            try await translating("ledger", await ledger.keyPins.record(key.key.identity, key.source))
        }
        await ledger.close()
    }

    /// The path of the list of witnesses, the notes that values exist. A restore removes this file. Otherwise a value
    /// that the backup lacks would count as lost.
    package var presenceRecordsPath: String { get throws { Self.witnessPath(try configuration.requiredDirectories()) } }

    /// The path of the list of imported values. If the backup has no such list, a restore removes this file, so that values
    /// which were imported after the backup are imported again.
    package var importsPath: String { get throws { Self.importPath(try configuration.requiredDirectories()) } }
}
