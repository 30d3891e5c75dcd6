import BackendContract
import Synchronization

/// A key or a collection without its type, so that one list can contain keys of several types.
///
/// Create it with ``key(_:)`` or ``collection(_:)`` for ``StorageKeyCatalog/allKeys`` of a catalog, and for migrations.
/// It cannot read a value: use the key itself.
///
/// ```swift
/// let keys: [AnyStorageKey] = [.key(.width), .key(.apiToken), .collection(notes)]
/// for key in keys { print(key.name, key.domain, key.owner ?? "no owner", key.hasMigration) }
/// ```
public struct AnyStorageKey: Sendable {
    private let made: MadeMigrations
    private var catalogOwner: String?

    var base: any TypedKey { made.key }
    /// The collection, if this is one; nil for a single key.
    package var collection: (any TypedCollection)? { made.collection }

    /// The key with its value type. For a collection, this is the key that represents the whole collection.
    package var opened: any OpenedKey { base }

    init(base: any TypedKey, collection: (any TypedCollection)? = nil) { made = MadeMigrations(base, collection) }

    /// Creates an entry of a catalog from a key.
    ///
    /// ```swift
    /// let token = AnyStorageKey.key(.apiToken)
    /// ```
    public static func key<Value>(_ key: StorageKey<Value>) -> AnyStorageKey { AnyStorageKey(base: key) }

    /// The name of the key or collection.
    public var name: String { base.name }
    /// The domain that stores the value.
    public var domain: StorageDomain { base.domain }
    /// The protection of the value in addition to that of the domain.
    public var security: SecurityPolicy { base.security }
    /// The part of the program that is responsible for the value.
    public var owner: String? { base.owner ?? catalogOwner }
    /// A description of the value for people.
    public var description: String? { base.description }
    /// Whether the key has migrations, for example from legacy locations: slots where earlier versions of the program
    /// stored the value.
    public var hasMigration: Bool { made.isNeeded }

    /// Returns this entry with the owner of its catalog, unless the entry names an owner itself.
    func owned(by owner: String) -> AnyStorageKey {
        var entry = self
        entry.catalogOwner = owner
        return entry
    }

    /// Returns this entry with a chain of versions that converts values of earlier versions.
    func evolving(_ chain: EvolutionChain?) -> AnyStorageKey {
        func key<Key: TypedKey>(_ key: Key) -> AnyStorageKey { .key(key.typed.evolving(chain)) }
        func collection<Collection: TypedCollection>(_ collection: Collection) -> AnyStorageKey {
            .collection(collection.typed.evolving(chain))
        }
        if let own = self.collection { return collection(own) }
        return key(base)
    }

    /// The legacy locations of the value, or of the collection's records.
    package var legacyLocations: [AnyStorageKey] { made.all.legacyLocations }

    /// The migrations of the key. They are created once, because checking and migrating a catalog uses them several
    /// times.
    var migrations: [AnyStorageMigration] { made.isNeeded ? made.all.migrations : [] }

    /// The result of a router's search for the key, which is kept for the next one.
    var found: (any AnyObject & Sendable)? {
        get { made.found.withLock(\.object) }
        nonmutating set { made.found.withLock { $0.object = newValue } }
    }

    /// The keys from which the value may be taken: legacy locations, and keys that are copied.
    var sources: [AnyStorageKey] { made.all.sources }
}

/// A weak reference to an object.
struct WeakObject { weak var object: (any AnyObject & Sendable)? }

/// A key, and its migrations and their locations, which are found at the first use.
private final class MadeMigrations: Sendable {
    final class All: Sendable {
        let migrations: [AnyStorageMigration]
        let sources: [AnyStorageKey]
        let legacyLocations: [AnyStorageKey]

        init(_ migrations: [AnyStorageMigration], _ records: [AnyStorageKey]?) {
            self.migrations = migrations
            sources = records ?? migrations.flatMap(\.sources)
            legacyLocations = records ?? migrations.flatMap(\.legacyLocations)
        }
    }

    /// The reference is weak, because a program may keep the key for longer than a router, and the router's stores.
    let found = Mutex(WeakObject())
    let isNeeded: Bool
    private let made = Mutex<All?>(nil)
    let key: any TypedKey
    let collection: (any TypedCollection)?

    init(_ key: any TypedKey, _ collection: (any TypedCollection)?) {
        (self.key, self.collection, isNeeded) = (key, collection, key.hasMigration)
    }

    // The migrations are created by code of the program, which may read this property again.
    var all: All { made.value { All(isNeeded ? key.migrations : [], collection?.legacyLocations.map(\.key)) } }
}

/// A key with its value type.
package protocol OpenedKey<Value>: Sendable {
    associatedtype Value: Codable & Sendable
    var typed: StorageKey<Value> { get }
}

/// The parts of a key that do not depend on its value type. `StorageKey` is the only conforming type.
protocol TypedKey<Value>: OpenedKey {
    var name: String { get }
    var domain: StorageDomain { get }
    var security: SecurityPolicy { get }
    var owner: String? { get }
    var description: String? { get }
    var evolution: EvolutionChain? { get }
    var schemaVersion: Int { get }
    var evolutionProblem: String? { get }
    var membership: RecordMembership? { get }
    var hasMigration: Bool { get }
    /// Whether a read begins with the destination. It does not for a record, whose list must be split first, and while a release window keeps
    /// a legacy location up to date, because an earlier release may have written there.
    var isReadInPlace: Bool { get }
    var migrations: [AnyStorageMigration] { get }
    var isWitnessed: Bool { get }
    var releaseWindow: ReleaseWindow? { get }
    var sourceWinsConflicts: Bool { get }
    /// Whether a value in a legacy location may replace the key's value, by the key's conflict policy.
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
    /// The namespace of the slot in its store: one for all single values, and one for each collection.
    var namespace: StorageNamespace { membership?.namespace ?? .values }
    /// The name of the key or, for a record, of its collection. Messages, migrations and chains of versions use it.
    var entity: String { membership?.entity ?? name }
    /// The type tag: the name of the value's type that is stored with the value.
    var typeTag: String { membership?.typeTag ?? TypeNames.name(of: Value.self) }
    /// Whether the key belongs to a record of a collection.
    var isRecord: Bool { membership?.isRecord ?? false }
    /// Whether a removal leaves a tombstone, a record of the removal, so that no older copy is migrated again.
    var leavesTombstone: Bool { hasMigration || isWitnessed || membership?.buriesRemoved == true }
    /// Whether a value may have to be migrated or converted before it is read.
    var mayBeOutdated: Bool { hasMigration || evolution != nil }

    /// Returns whether this key refuses a record because of its type tag.
    func refuses(_ metadata: StorageMetadata) -> Bool { membership?.requiresTypeTag == true && isOfOtherType(metadata) }

    /// Returns whether this key refuses a record because of its type tag, unless the record decodes as the key's type.
    func doubts(_ metadata: StorageMetadata) -> Bool { membership?.requiresTypeTag != true && isOfOtherType(metadata) }

    private func isOfOtherType(_ metadata: StorageMetadata) -> Bool {
        isRecord && membership?.acceptsOtherTags == false && (metadata.typeTag ?? typeTag) != typeTag
    }
}

/// The names of types. Describing a type takes longer than encoding a short value.
private enum TypeNames {
    private static let known = Mutex<[ObjectIdentifier: String]>([:])

    static func name(of type: Any.Type) -> String { known.value(at: ObjectIdentifier(type)) { String(describing: type) } }
}
