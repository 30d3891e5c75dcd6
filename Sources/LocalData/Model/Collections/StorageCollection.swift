import BackendContract
import Crypto
import Foundation

/// Many values of one type in one domain, each under an id of its own.
///
/// ```swift
/// let notes = StorageCollection<Note>("notes", domain: .encryptedSQLite(database: "main"), owner: "Notes", description: "What was noted")
/// try await router.set(note, in: notes)
/// for try await note in router.records(in: notes) { … }
/// ```
///
/// A collection holds no record and opens nothing; making one is free. Records are reached by their ids at the same cost whether there are ten or a million.
public struct StorageCollection<Record: Codable & Sendable>: Sendable {
    /// The collection's name in its domain.
    public var name: String { placeholder.name }
    /// Where the records live.
    public var domain: StorageDomain { template.domain }
    /// How they are protected, beyond what the domain does by itself.
    public var security: SecurityPolicy { template.security }
    /// The part of the program that answers for them.
    public var owner: String? { template.owner }
    /// What they are, for people.
    public var description: String? { template.description }
    /// The name that is stored with each record for its type.
    public var typeTag: String { template.typeTag }
    /// The version of the shape in which records are stored.
    public var schemaVersion: Int { template.schemaVersion }

    /// Whether stores may keep a label for each attribute of a record: see ``withoutAttributeIndex()``.
    public var indexesAttributes: Bool { template.membership?.indexesAttributes ?? true }

    /// What every record's key is made of.
    private(set) var template: StorageKey<Record>
    /// What stands for the whole collection where keys are listed. Nothing is stored in its slot.
    var placeholder: StorageKey<Record>
    /// The id of a record.
    let identify: @Sendable (Record) throws -> String
    /// Where the records used to be, whole collections or lists under a key: in the order of preference.
    private(set) var legacyLocations: [LegacyLocation] = []

    /// Creates a collection.
    /// - Parameters:
    ///   - name: The collection's name: not empty, at most 200 bytes of UTF-8, no control characters. Checked on first use.
    ///   - domain: Where the records live.
    ///   - security: How they are protected, beyond what the domain does by itself.
    ///   - serializer: How a record becomes bytes.
    ///   - owner: The part of the program that answers for them; nil for the one that their catalog names.
    ///   - description: What they are, for people; nil where the name says it.
    ///   - typeTag: The name that is stored for the type; the type's own when not given. Keep it when the type is renamed, or bring the records over with
    ///     `StorageRouter.migrateAll(from:to:)`.
    ///   - id: The id of a record: a name as of a key, and always the same for the same record.
    public init(
        _ name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Record> = .json,
        owner: String? = nil, description: String? = nil, typeTag: String? = nil, id: @escaping @Sendable (Record) -> String
    ) {
        self.init(name, domain, security, serializer, owner, description, typeTag, identify: id)
    }

    private init(
        _ name: String, _ domain: StorageDomain, _ security: SecurityPolicy, _ serializer: Serializer<Record>, _ owner: String?,
        _ description: String?, _ typeTag: String?, identify: @escaping @Sendable (Record) throws -> String
    ) {
        var key = StorageKey<Record>(
            name: name, domain: domain, security: security, serializer: serializer, owner: owner, description: description)
        key.membership = RecordMembership(namespace: .collections, entity: name, typeTag: typeTag)
        placeholder = key
        key.membership = RecordMembership(
            namespace: .collection(name), entity: name, typeTag: typeTag, demandsTypeTag: true)
        template = key
        self.identify = identify
    }

    /// The part of the store that the records are in.
    var namespace: StorageNamespace { template.namespace }

    /// The key of a record: for everything that can be done with a key.
    /// - Parameter id: The record's id.
    public func key(_ id: String) -> StorageKey<Record> {
        var key = template.named(id)
        if !legacyLocations.isEmpty { key.membership?.gathered = self }
        return key
    }

    /// The id of a record.
    /// - Throws: ``StorageError`` with `encodingFailed` when it is made of the record's content and that cannot be encoded.
    public func id(of record: Record) throws -> String { try identify(record) }

    // MARK: Shapes and places

    /// This collection, reading records that were stored in earlier shapes: each is brought to the chain's end when it is read, and all of them by a sweep.
    /// - Parameter evolution: The chain; it ends in the type of the records.
    public func evolving(_ evolution: TypedEvolution<Record>) -> Self { evolving(evolution.chain) }

    /// This collection, reading records that were stored in earlier shapes, with a chain whose last step leaves a document of the records' type.
    public func evolving(_ evolution: DocumentEvolution) -> Self { evolving(evolution.chain) }

    func evolving(_ chain: EvolutionChain?) -> Self { changingKeys { $0.evolving(chain) } }

    /// This collection, for records of another version than the first, without a way from other versions.
    public func version(_ version: Int) -> Self { changingKeys { $0.version(version) } }

    /// This collection, with records that expire: an expired one is absent for every read, and a sweep removes it a day after one found it expired.
    /// - Parameter lifetime: How long a record stays valid after each `set`, by the wall clock.
    public func expiring(after lifetime: Duration) -> Self { changingKeys { $0.expiring(after: lifetime) } }

    /// This collection, whose records are not found by an index of their attributes: an encrypted database keeps no label for any of them,
    /// so that its file does not tell which records have an attribute in common.
    ///
    /// Filters by attribute give the same answers, and read every record of the collection for them; so do sweeps that look for older versions
    /// and expired records. Each record says itself whether its attributes have labels: a record that was written before keeps what it had until it is
    /// written again, and filters read every record for as long as there is one without labels.
    public func withoutAttributeIndex() -> Self {
        changingKeys { key in
            var key = key
            key.membership?.indexesAttributes = false
            return key
        }
    }

    /// This collection with another rule for what to do when a legacy location holds another record of the same id.
    public func resolvingConflicts(_ policy: ConflictPolicy<Record>) -> Self { changingKeys { $0.resolvingConflicts(policy) } }

    /// This collection, taking its records from an older one: each when it is asked for, all of them before they are enumerated and by a sweep.
    /// - Parameters:
    ///   - source: The older collection, in another place or under another name.
    ///   - options: What the migration may do beyond the safe default.
    public func moved(from source: StorageCollection<Record>, options: MigrationOptions = MigrationOptions()) -> Self {
        moved(from: source, options: options) { $0 }
    }

    /// This collection, taking its records from an older one of another type. Ids stay.
    /// - Parameters:
    ///   - source: The older collection.
    ///   - options: What the migration may do beyond the safe default.
    ///   - transform: Makes the new record. It may run again after a crash, so it must not invent identities.
    public func moved<Source>(
        from source: StorageCollection<Source>, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Record
    ) -> Self {
        taking(CollectionSource(source: source, options: options, transform: transform))
    }

    /// This collection, taking its records from one value that held all of them: a list under a key becomes records of their own, all in one commit.
    /// - Parameters:
    ///   - source: The key of the list. Its own chain of versions, and its own legacy locations, count.
    ///   - split: Makes the records. It may run again after a crash, so it must not invent identities.
    public func moved<Source>(
        from source: StorageKey<Source>, _ split: @escaping @Sendable (Source) throws -> [Record]
    ) -> Self {
        var next = changingKeys { key in
            var key = key
            key.membership?.buriesRemoved = true
            return key
        }
        next.legacyLocations.append(LegacyLocation(key: .key(source), source: ListSource(key: source, split: split)))
        return next
    }

    /// This collection, with one more older collection.
    func taking<Source>(_ way: CollectionSource<Source, Record>) -> Self {
        var next = changingKeys { key in
            let id = "\(key.entity):moved:\(way.source.domain)/\(way.source.name)"
            @Sendable func migration(to destination: StorageKey<Record>) -> AnyStorageMigration {
                let step = MigrationStep.transforming(
                    to: destination, from: way.source.key(destination.name), id: id, options: way.options, way.transform)
                return AnyStorageMigration(way.kept.map(step.keeping) ?? step)
            }
            guard let window = way.window else { return key.adding { migration(to: $0) } }
            return key.adding(keeping: window) { migration(to: $0) }
        }
        next.placeholder = placeholder
        next.legacyLocations.append(LegacyLocation(key: .collection(way.source), source: way))
        return next
    }

    private func changingKeys(_ change: (StorageKey<Record>) -> StorageKey<Record>) -> Self {
        var next = self
        next.template = change(template)
        next.placeholder = change(placeholder)
        return next
    }
}

extension StorageCollection where Record: Identifiable, Record.ID: Sendable {
    /// Creates a collection of records that say their id themselves. It is stored as text: as `String(describing:)` gives it.
    /// The parameters are those of ``init(_:domain:security:serializer:owner:description:typeTag:id:)``.
    public init(
        _ name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Record> = .json,
        owner: String? = nil, description: String? = nil, typeTag: String? = nil
    ) {
        self.init(name, domain, security, serializer, owner, description, typeTag) { Self.text(of: $0.id) }
    }

    /// The key of a record.
    /// - Parameter id: The record's id.
    public func key(for id: Record.ID) -> StorageKey<Record> { key(Self.text(of: id)) }

    static func text(of id: Record.ID) -> String { id as? String ?? String(describing: id) }
}

extension StorageCollection {
    /// Creates a collection of records without an id: each is found by its content, and the same content is stored once. The id is the SHA-256 of the serializer's bytes.
    /// The parameters are those of ``init(_:domain:security:serializer:owner:description:typeTag:id:)``.
    public static func contentAddressed(
        _ name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Record> = .json,
        owner: String? = nil, description: String? = nil, typeTag: String? = nil
    ) -> StorageCollection {
        StorageCollection(name, domain, security, serializer, owner, description, typeTag) { record in
            do {
                return hexadecimalText(of: SHA256.hash(data: try serializer.encode(record)))
            } catch {
                let failure = CodingFailure(error)
                throw StorageError(
                    StorageError.encodingFailed, key: name,
                    "The record has no id, since the serializer \(serializer.name) cannot encode it: \(failure). Change what is encoded there, or give the collection another serializer. Nothing was changed.",
                    underlying: failure)
            }
        }
    }
}

extension AnyStorageKey {
    /// A collection as an entry of a catalog.
    public static func collection<Record>(_ collection: StorageCollection<Record>) -> AnyStorageKey {
        AnyStorageKey(base: collection.placeholder, collection: collection)
    }
}

/// A collection whose type of record is not known where it is used. `StorageCollection` is the only type that conforms.
package protocol TypedCollection<Record>: Sendable {
    associatedtype Record: Codable & Sendable
    var typed: StorageCollection<Record> { get }
}

extension StorageCollection: TypedCollection {
    package var typed: StorageCollection<Record> { self }
}
