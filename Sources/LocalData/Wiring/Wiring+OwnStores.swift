import BackendContract
import MemoryBackend

/// The library's own stores: the ledger's and the quarantine's. They need no sealing key, so they can be made before there is any.
extension Wiring {
    /// The store of the migration ledger.
    static func ledgerStore(_ configuration: StorageConfiguration) -> OwnStore {
        OwnStore { try makeOwnStore("ledger", configuration) { "\($0.state)/ledger.plist" } }
    }

    /// The store of the quarantine.
    static func quarantineStore(_ configuration: StorageConfiguration) -> OwnStore {
        OwnStore { try makeOwnStore("quarantine", configuration) { "\($0.data)/quarantine/quarantine.plist" } }
    }

    private static func makeOwnStore(
        _ name: String, _ configuration: StorageConfiguration, _ path: (StorageDirectories) -> String
    ) throws -> any StorageBackend {
        if let make = configuration.makeOwnStore { return try make(name) }
        switch configuration.place {
        case .refused(let why): throw StorageError(StorageError.unavailable, key: name, why)
        case .memory(let world):
            let domain = StorageDomain.userDefaults(suite: "LocalData.\(name)")
            return InMemoryStore.standIn(for: domain, medium: world.medium(domain), runtime: configuration.runtime)
        default: return try DefaultsProvider.makeStore(at: path(try configuration.requiredDirectories()), isPrivate: true, configuration)
        }
    }
}
