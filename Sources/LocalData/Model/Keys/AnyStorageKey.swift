import BackendContract
import Synchronization

/// A key whose type of value is not known where it is used: an entry of a catalog, a source of a migration.
public struct AnyStorageKey: Sendable {
    let base: any TypedKey
    /// The collection that is the entry; nil for a single key.
    package var collection: (any TypedCollection)?
    private let made: MadeMigrations
    private var catalogOwner: String?

    /// The key with its type of value; of a collection, the key of its template.
    package var opened: any OpenedKey { base }

    init(base: any TypedKey, collection: (any TypedCollection)? = nil) {
        (self.base, self.collection, made) = (base, collection, MadeMigrations())
    }

    /// Erases a key's type of value.
    public static func key<Value>(_ key: StorageKey<Value>) -> AnyStorageKey { AnyStorageKey(base: key) }

    /// The name of the slot.
    public var name: String { base.name }
    /// Where the value lives.
    public var domain: StorageDomain { base.domain }
    /// How it is protected, beyond what the domain does by itself.
    public var security: SecurityPolicy { base.security }
    /// The part of the program that answers for it.
    public var owner: String? { base.owner ?? catalogOwner }
    /// What it is, for people.
    public var description: String? { base.description }
    /// Whether it may come from somewhere else.
    public var hasMigration: Bool { base.hasMigration }

    /// This entry, with the owner of its catalog where it names none itself.
    func owned(by owner: String) -> AnyStorageKey {
        var entry = self
        entry.catalogOwner = owner
        return entry
    }

    /// This entry, reading values that were stored in earlier shapes.
    func evolving(_ chain: EvolutionChain?) -> AnyStorageKey {
        func key<Key: TypedKey>(_ key: Key) -> AnyStorageKey { .key(key.typed.evolving(chain)) }
        func collection<Collection: TypedCollection>(_ collection: Collection) -> AnyStorageKey {
            .collection(collection.typed.evolving(chain))
        }
        if let own = self.collection { return collection(own) }
        return key(base)
    }

    /// The legacy locations of the value, or of the collection's records.
    package var legacyLocations: [AnyStorageKey] {
        func locations<Collection: TypedCollection>(_ collection: Collection) -> [AnyStorageKey] {
            collection.typed.legacyLocations.map(\.key)
        }
        if let collection { return locations(collection) }
        return migrations.flatMap(\.legacyLocations)
    }

    /// The migrations of the key, made once: catalogs are checked and swept by them several times.
    var migrations: [AnyStorageMigration] { hasMigration ? made.migrations(of: base) : [] }

    /// The keys that the value may be made of: the legacy locations, and those that are copied.
    var sources: [AnyStorageKey] { collection == nil ? migrations.flatMap(\.sources) : legacyLocations }
}

/// The migrations of one key.
private final class MadeMigrations: Sendable {
    private let made = Mutex<[AnyStorageMigration]?>(nil)

    func migrations(of key: any TypedKey) -> [AnyStorageMigration] {
        if let made = made.withLock(\.self) { return made }
        // Not under the lock: the program's own code makes them.
        let migrations = key.migrations
        return made.withLock { made in
            if let made { return made }
            made = migrations
            return migrations
        }
    }
}

/// A key with its type of value.
package protocol OpenedKey<Value>: Sendable {
    associatedtype Value: Codable & Sendable
    var typed: StorageKey<Value> { get }
}

/// The parts of a key that do not depend on its type of value. `StorageKey` is the only type that conforms.
protocol TypedKey<Value>: OpenedKey {
    var name: String { get }
    var domain: StorageDomain { get }
    var security: SecurityPolicy { get }
    var owner: String? { get }
    var description: String? { get }
    var evolution: EvolutionChain? { get }
    var evolutionProblem: String? { get }
    var membership: RecordMembership? { get }
    var hasMigration: Bool { get }
    var migrations: [AnyStorageMigration] { get }
    var isWitnessed: Bool { get }
    var releaseWindow: ReleaseWindow? { get }
    var sourceWinsConflicts: Bool { get }
    /// Whether a legacy location's value may change the key's in a conflict.
    var mayLoseConflicts: Bool { get }
}

extension StorageKey: TypedKey {
    package var typed: StorageKey<Value> { self }

    var sourceWinsConflicts: Bool {
        if case .sourceWins = conflictPolicy { true } else { false }
    }

    var mayLoseConflicts: Bool {
        if case .destinationWins = conflictPolicy { false } else { true }
    }
}

extension TypedKey {
    /// The part of the store that the slot is in: that of plain values, or a collection's own.
    var namespace: StorageNamespace { membership?.namespace ?? .values }
    /// The name of the entity that the value belongs to: the key's own, or that of its collection.
    var entity: String { membership?.entity ?? name }
    /// The name that is stored for the value's type.
    var typeTag: String { membership?.typeTag ?? String(describing: Value.self) }
    /// Whether a record with another type's tag is refused, as in a collection.
    var demandsTypeTag: Bool { membership?.demandsTypeTag ?? false }
    /// Whether a removal leaves a tombstone, so that no older copy comes back.
    var leavesTombstone: Bool { hasMigration || isWitnessed || membership?.buriesRemoved == true }
    /// Whether a value may have to be brought to its place or shape before it is read.
    var mayBeOutdated: Bool { hasMigration || evolution != nil }

    /// Whether a record carries the tag of a type that this key neither has nor accepts.
    func refuses(_ metadata: StorageMetadata) -> Bool {
        guard let membership, membership.demandsTypeTag, !membership.acceptsOtherTags, let tag = metadata.typeTag else { return false }
        return tag != typeTag
    }
}
