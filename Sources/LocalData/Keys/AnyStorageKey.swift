import BackendContract

/// A key whose type of value is not known where it is used: an entry of a catalog, a source of a migration.
public struct AnyStorageKey: Sendable {
    let base: any TypedKey
    /// The collection that the entry stands for, if it is none of a single key.
    var collection: (any TypedCollection)?

    /// Forgets a key's type of value.
    public static func key<Value>(_ key: StorageKey<Value>) -> AnyStorageKey { AnyStorageKey(base: key) }

    /// The name of the slot.
    public var name: String { base.name }
    /// Where the value lives.
    public var domain: StorageDomain { base.domain }
    /// How it is protected, beyond what the domain does by itself.
    public var security: SecurityPolicy { base.security }
    /// The part of the program that answers for it.
    public var owner: String { base.owner }
    /// What it is, for people.
    public var description: String { base.description }
    /// Whether it may come from somewhere else.
    public var hasMigration: Bool { base.hasMigration }

    /// Where the value, or the collection's records, used to be.
    var olderPlaces: [AnyStorageKey] {
        func places<Collection: TypedCollection>(_ collection: Collection) -> [AnyStorageKey] { collection.typed.olderPlaces.map(\.key) }
        if let collection { return places(collection) }
        return base.migrations.flatMap(\.sources)
    }
}

/// What code that is generic over keys sees of one; `StorageKey` is the only type that conforms.
protocol TypedKey<Value>: Sendable {
    associatedtype Value: Codable & Sendable
    var name: String { get }
    var domain: StorageDomain { get }
    var security: SecurityPolicy { get }
    var owner: String { get }
    var description: String { get }
    var namespace: StorageNamespace { get }
    var evolution: EvolutionChain? { get }
    var hasMigration: Bool { get }
    var leavesTombstone: Bool { get }
    var prepare: (@Sendable (MigrationEngine) async throws -> Void)? { get }
    var migrations: [AnyStorageMigration] { get }
    var typed: StorageKey<Value> { get }
}

extension StorageKey: TypedKey {
    var typed: StorageKey<Value> { self }
}
