import BackendContract
import Crypto
import Foundation

/// Describes a set of records of one type in one store. Each record has an id.
///
/// Use it for anything of which a program has many: notes, messages, cached pages. Use a ``StorageKey`` for a single
/// value. A collection is a description: it contains no records and opens no store. The cost of reading a record by its
/// id does not depend on the number of records.
///
/// ```swift
/// let notes = StorageCollection<Note>("notes", domain: .encryptedSQLite(database: "editor"), description: "The user's notes")
/// try await storage.set(note, in: notes)
/// for try await note in storage.records(in: notes) { show(note.title) }
/// do {
///     show(try await storage.get(note.id, in: notes).title)
/// } catch StorageError.notFound {
///     show("There is no such note.")
/// }
/// ```
public struct StorageCollection<Record: Codable & Sendable>: Sendable {
    /// The collection's name in its domain.
    public var name: String { placeholder.name }
    /// The domain that stores the records.
    public var domain: StorageDomain { template.domain }
    /// The protection of the records in addition to that of the domain.
    public var security: SecurityPolicy { template.security }
    /// The part of the program that is responsible for the records.
    public var owner: String? { template.owner }
    /// A description of the records for people.
    public var description: String? { template.description }
    /// The name of the record type that is stored with each record.
    public var typeTag: String { template.typeTag }
    /// The schema version with which records are stored.
    public var schemaVersion: Int { template.schemaVersion }

    /// Whether stores may index the attributes of a record: see ``withoutAttributeIndex()``.
    public var indexesAttributes: Bool { template.membership?.indexesAttributes ?? true }

    /// The key from which the keys of all records are derived.
    var template: StorageKey<Record>
    /// The key that represents the whole collection in catalogs and reports. Its slot contains no value.
    var placeholder: StorageKey<Record>
    /// Returns the id of a record.
    let identify: @Sendable (Record) throws -> String
    /// The legacy locations, where earlier versions of the program kept the records, in the order of preference. Each
    /// one is a collection, or a key with a list of records.
    private(set) var legacyLocations: [LegacyLocation] = []

    /// Creates a collection.
    ///
    /// ```swift
    /// struct Station: Codable, Sendable {
    ///     var code: String
    ///     var altitude: Double
    /// }
    /// let stations = StorageCollection<Station>("stations", domain: .encryptedSQLite(database: "weather"), id: \.code)
    /// try await storage.set(Station(code: "GRZ", altitude: 353), in: stations)
    /// ```
    /// - Parameters:
    ///   - name: The collection's name. It is not empty, has at most 200 bytes of UTF-8 and contains no control
    ///     characters. The router checks it on first use.
    ///   - domain: The domain that stores the records.
    ///   - security: The protection of the records in addition to that of the domain.
    ///   - serializer: The encoding of a record as bytes.
    ///   - owner: The part of the program that is responsible for the records; nil for the owner of their catalog.
    ///   - description: A description of the records for people; nil if the name is enough.
    ///   - typeTag: The name of the record type that is stored with each record. With a name, the collection has only the
    ///     records with this name. If it is nil, the stored name is that of the Swift type, and the collection has all
    ///     records, so the Swift type can be renamed.
    ///   - id: Returns the id of a record. The id follows the rules for key names, and must always be the same for the
    ///     same record.
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
        let key = StorageKey<Record>(
            name: name, domain: domain, security: security, serializer: serializer, owner: owner, description: description)
        placeholder = key.belonging { $0 = RecordMembership(namespace: .collections, entity: name, typeTag: typeTag) }
        template = key.belonging {
            $0 = RecordMembership(
                namespace: .collection(name), entity: name, typeTag: typeTag, requiresTypeTag: typeTag != nil, isRecord: true)
        }
        self.identify = identify
    }

    /// The namespace of the records in their store.
    var namespace: StorageNamespace { template.namespace }

    /// Returns the key of a record. Use it for functions that only exist for keys, such as
    /// ``StorageRouter/values(for:)``. It does not check whether such a record exists.
    ///
    /// ```swift
    /// let altitude = try await storage.value(for: stations.key("GRZ"))?.altitude
    /// ```
    /// - Parameter id: The record's id.
    public func key(_ id: String) -> StorageKey<Record> {
        let key = template.named(id)
        return legacyLocations.isEmpty ? key : key.belonging { $0?.gathered = self }
    }

    /// Returns the id of a record.
    ///
    /// ```swift
    /// do {
    ///     print(try attachments.id(of: file))  // 64 hexadecimal digits
    /// } catch StorageError.encodingFailed {
    ///     // The id is derived from the content, and the serializer cannot encode this content.
    /// }
    /// ```
    /// - Throws: ``StorageError`` with `encodingFailed` when the id is derived from the record's content, and the
    ///   content cannot be encoded.
    public func id(of record: Record) throws -> String { try identify(record) }

    // MARK: Shapes and places

    /// Returns this collection with a chain of versions that converts records of earlier versions. A record is
    /// converted when it is read. A sweep (``StorageRouter/sweep(_:progress:)``) converts all records.
    ///
    /// ```swift
    /// let notes: StorageCollection<Note> = editor.collection("notes")
    ///     .evolving(Evolution.from(NoteV1.self).to { old in Note(id: old.id, title: old.name) })
    /// await storage.sweep()  // converts all notes; reads convert one at a time
    /// ```
    /// - Parameter evolution: The chain. Its last version is the type of the records.
    public func evolving(_ evolution: TypedEvolution<Record>) -> Self { evolving(evolution.chain) }

    /// Returns this collection with a chain of versions whose last step produces a document: the stored properties by
    /// name, without a Swift type. The document must decode as the type of the records.
    ///
    /// ```swift
    /// let byName: StorageCollection<Note> = editor.collection("notes")
    ///     .evolving(Evolution.from(version: 1).to { note in note.rename("name", to: "title") })
    /// ```
    public func evolving(_ evolution: DocumentEvolution) -> Self { evolving(evolution.chain) }

    func evolving(_ chain: EvolutionChain?) -> Self { changingKeys { $0.evolving(chain) } }

    /// Returns this collection with a schema version other than 1. No chain converts records of other versions.
    ///
    /// ```swift
    /// let older: StorageCollection<NoteV1> = editor.collection("oldNotes").version(3)
    /// ```
    public func version(_ version: Int) -> Self { changingKeys { $0.version(version) } }

    /// Returns this collection with records that expire. Reads treat an expired record as absent. A sweep purges the
    /// record, at the earliest a day after a sweep first found it expired.
    ///
    /// ```swift
    /// let cache: StorageCollection<Note> = editor.collection("recent").expiring(after: .seconds(86_400))
    /// ```
    /// - Parameter lifetime: The time after each `set` during which a record is valid, by the wall clock.
    public func expiring(after lifetime: Duration) -> Self { changingKeys { $0.expiring(after: lifetime) } }

    /// Returns this collection without an index of attributes. For such an index, an encrypted database stores a keyed
    /// hash of each attribute (a label). Without labels, its file does not reveal which records share an attribute.
    ///
    /// Filters by attribute give the same results, but read every record of the collection. A sweep also reads every
    /// record to find earlier versions and expired records. Each record stores whether its attributes are indexed. A
    /// record that was written before this change keeps its labels until it is written again. As long as one record has
    /// no labels, filters read every record.
    ///
    /// ```swift
    /// let diary: StorageCollection<Note> = editor.collection("diary").withoutAttributeIndex()
    /// ```
    public func withoutAttributeIndex() -> Self { changingKeys { $0.belonging { $0?.indexesAttributes = false } } }

    /// Returns this collection with one more attribute that is derived from each record.
    package func deriving(_ attribute: DerivedAttribute) -> Self {
        changingKeys { key in
            let derived = DerivedAttributes((key.membership?.derived?.all ?? []) + [attribute], typeTag: key.typeTag)
            return key.belonging { $0?.derived = derived }
        }
    }

    /// The attributes that are derived from each record; nil if there are none.
    package var derivedAttributes: DerivedAttributes? { template.derivedAttributes }

    /// Returns this collection with another conflict policy. The policy applies if a legacy location contains a
    /// different record with the same id.
    ///
    /// ```swift
    /// let kept = diary.moved(from: editor.collection("oldDiary")).resolvingConflicts(.sourceWins)
    /// ```
    public func resolvingConflicts(_ policy: ConflictPolicy<Record>) -> Self { changingKeys { $0.resolvingConflicts(policy) } }

    /// Returns this collection with an older collection as a legacy location: a place where earlier versions of the
    /// program kept the records. If a record is read by its id, the router moves this record. If the records are
    /// listed, the router first moves all of them. A sweep also moves all of them.
    ///
    /// ```swift
    /// let plain = StorageCollection<Note>("notes", domain: .userDefaults)
    /// let notes = StorageCollection<Note>("notes", domain: .encryptedSQLite(database: "editor")).moved(from: plain)
    /// do {
    ///     for try await note in storage.records(in: notes) { show(note.title) }  // moves all notes first
    /// } catch StorageError.unavailable {
    ///     // A store cannot be reached. Every note is still in one of the two stores.
    /// }
    /// ```
    /// - Parameters:
    ///   - source: The older collection, in another store or under another name.
    ///   - options: The options of the migration. Each default is the safe choice.
    public func moved(from source: StorageCollection<Record>, options: MigrationOptions = MigrationOptions()) -> Self {
        moved(from: source, options: options) { $0 }
    }

    /// Returns this collection with an older collection of another record type as a legacy location. The ids of the
    /// records do not change.
    ///
    /// ```swift
    /// let older: StorageCollection<NoteV1> = editor.collection("oldNotes")
    /// let renamed = notes.moved(from: older) { old in Note(id: old.id, title: old.name) }
    /// ```
    /// - Parameters:
    ///   - source: The older collection.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Converts an older record to a newer one. It may run again after a crash, so it must not generate
    ///     random identifiers.
    public func moved<Source>(
        from source: StorageCollection<Source>, options: MigrationOptions = MigrationOptions(),
        _ transform: @escaping @Sendable (Source) throws -> Record
    ) -> Self {
        taking(CollectionSource(source: source, options: options, transform: transform))
    }

    /// Returns this collection with a key as a legacy location. The key's value contains all records. The router splits
    /// the value into records. If the store supports it, all records are written in one commit.
    ///
    /// ```swift
    /// let split = notes.moved(from: list) { $0.notes }
    /// ```
    /// - Parameters:
    ///   - source: The key of the list. Its value is migrated and converted as this key declares, and then split.
    ///   - split: Returns the records of a list. It may run again after a crash, so it must not generate random
    ///     identifiers.
    public func moved<Source>(from source: StorageKey<Source>, _ split: @escaping @Sendable (Source) throws -> [Record]) -> Self {
        var next = changingKeys { $0.belonging { $0?.buriesRemoved = true } }
        next.legacyLocations.append(LegacyLocation(key: .key(source), source: ListSource(key: source, split: split)))
        return next
    }

    /// Returns this collection with one more older collection as a legacy location.
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

    /// Whether the router may have to migrate records of this collection from a legacy location.
    package var hasLegacyLocations: Bool {
        !legacyLocations.isEmpty || template.hasMigration || template.membership?.buriesRemoved == true
    }

    /// Returns this collection without legacy locations and without an index of attributes, in another domain.
    func placed(in domain: StorageDomain) -> Self {
        var next = changingKeys { $0.placed(in: domain) }
        next.legacyLocations = []
        return next.withoutAttributeIndex()
    }

    private func changingKeys(_ change: (StorageKey<Record>) -> StorageKey<Record>) -> Self {
        var next = self
        next.template = change(template)
        next.placeholder = change(placeholder)
        return next
    }
}

extension TypedKey {
    /// The attributes that are derived from each record of the key's collection; nil if there are none.
    var derivedAttributes: DerivedAttributes? {
        isRecord ? DeclaredShapes.derivedAttributes(of: Value.self, typeTag: typeTag, adding: membership?.derived) : nil
    }
}

extension StorageCollection where Record: Identifiable, Record.ID: Sendable {
    /// Creates a collection of `Identifiable` records. The stored id is `String(describing:)` of the record's id. The
    /// parameters are those of ``init(_:domain:security:serializer:owner:description:typeTag:id:)``.
    ///
    /// ```swift
    /// let people = StorageCollection<Person>("people", domain: .encryptedSQLite(database: "editor"), owner: "Editor")
    /// ```
    public init(
        _ name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Record> = .json,
        owner: String? = nil, description: String? = nil, typeTag: String? = nil
    ) {
        self.init(name, domain, security, serializer, owner, description, typeTag) { Self.text(of: $0.id) }
    }

    /// Returns the key of a record with an `Identifiable` id. It does not check whether such a record exists.
    ///
    /// ```swift
    /// for try await title in storage.values(for: notes.key(for: note.id)) { show(title?.title ?? "The note was removed.") }
    /// ```
    /// - Parameter id: The record's id.
    public func key(for id: Record.ID) -> StorageKey<Record> { key(Self.text(of: id)) }

    static func text(of id: Record.ID) -> String { id as? String ?? String(describing: id) }
}

extension StorageCollection {
    /// Creates a collection of records without an id. The id is the SHA-256 of the serializer's output, so equal
    /// content is stored once. The parameters are those of
    /// ``init(_:domain:security:serializer:owner:description:typeTag:id:)``.
    ///
    /// ```swift
    /// let attachments = StorageCollection<Data>.contentAddressed("attachments", domain: .encryptedSQLite(database: "editor"))
    /// let file = Data("The same bytes are stored once.".utf8)
    /// try await storage.set(file, in: attachments)
    /// let copy = try await storage.get(attachments.key(attachments.id(of: file)))
    /// ```
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
    /// Creates an entry of a catalog from a collection. A sweep then migrates and converts all its records.
    ///
    /// ```swift
    /// let records = AnyStorageKey.collection(notes)
    /// ```
    public static func collection<Record>(_ collection: StorageCollection<Record>) -> AnyStorageKey {
        AnyStorageKey(base: collection.placeholder, collection: collection)
    }
}

/// A collection with its record type erased. `StorageCollection` is the only conforming type.
package protocol TypedCollection<Record>: Sendable {
    associatedtype Record: Codable & Sendable
    var typed: StorageCollection<Record> { get }
}

extension TypedCollection {
    var legacyLocations: [LegacyLocation] { typed.legacyLocations }
    var anyTemplate: any TypedKey { typed.template }

    func anyKey(_ id: String) -> any TypedKey { typed.key(id) }
}

extension StorageCollection: TypedCollection {
    package var typed: StorageCollection<Record> { self }
}
