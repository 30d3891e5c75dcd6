import LocalData
import Sealing

/// The stores of a program.
struct BackedStores: Sendable {
    var stores: [BackedStore]
    /// The domains whose stores cannot be copied.
    var omitted: [StorageDomain]
    /// The names of the stores that the program's keys use.
    var expected: Set<String>
}

extension BackedStore {
    /// Returns the check for the contents of sealed stores in a backup; nil for kinds that are not sealed as a whole.
    /// - Parameter keys: The keys of the backup.
    static func check(of kind: String, keys: [SealingKey]) throws -> (any KeyedBackupCheck)? {
        try Wiring.backedProvider(of: kind)?.backupCheck(of: kind, keys: keys)
    }
}

extension Wiring {
    fileprivate static func backedProvider(of kind: String) -> (any BackedProvider)? {
        backedProviders.first { $0.backedKinds.contains(kind) }
    }

    /// The stores of the program: those that its keys use or have used, and those in the program's folders.
    /// - Parameters:
    ///   - domains: The domains whose keys the program has used, in this run or in earlier runs.
    ///   - references: The program's key sources.
    /// - Throws: `StorageError`.
    func backedStores(_ domains: Set<StorageDomain>, _ references: [KeySourceReference]) async throws -> BackedStores {
        var found = BackedStores(stores: [], omitted: [], expected: [])
        var served: Set<StorageDomain> = []
        for domain in domains {
            let scoped = configuration.scoped(domain)
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

    /// Returns the store of this configuration that has the kind and the scope of a store in a backup.
    /// - Throws: `StorageError`: `invalidName`; `unavailable` for a store that this build does not have;
    ///   `unsupported` for an unknown kind.
    func backedStore(_ kind: String, _ scope: String) throws -> BackedStore {
        guard let provider = Self.backedProvider(of: kind) else {
            throw StorageError(
                StorageError.unsupported, key: kind,
                "The backup holds a kind of store that this version does not know. Update the program.")
        }
        return try provider.backedStore(kind, scope, configuration)
    }
}
