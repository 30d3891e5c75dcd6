import BackendContract
import Foundation

/// Where an entity's records are, and how they are read and written without their type.
struct EntityPlace: Sendable {
    let entity: String
    let kind: SchemaPlan.EntityKind
    let domain: StorageDomain
    let security: SecurityPolicy
    /// The key or collection that the program has of the name.
    var registered: RegisteredEntities.Entity?

    /// The part of the store that the records are in.
    var namespace: StorageNamespace { kind == .key ? .values : .collection(entity) }

    /// The key of a record as a document, in the form in which it stands: its serializer and its type's tag stay.
    /// - Parameters:
    ///   - id: The record's id; for a key, its name.
    ///   - past: What is known of the record.
    ///   - chain: The chain that it is to come; nil to read and write it as it is.
    ///   - version: The version to write without a chain; the record's own when not given.
    ///   - demandsOwnTag: Whether what is written gets the tag of the program's own type, since it comes from another entity.
    func key(
        _ id: String, _ past: StorageMetadata, _ chain: EvolutionChain? = nil, version: Int? = nil, demandsOwnTag: Bool = false
    ) -> StorageKey<StoredDocument> {
        let serializer = past.serializer ?? registered?.serializer ?? "json"
        var key = StorageKey<StoredDocument>(
            name: id, domain: domain, security: security, serializer: Self.serializer(serializer), owner: "plan", description: entity)
        let tag = demandsOwnTag ? registered?.typeTag ?? past.typeTag : past.typeTag ?? registered?.typeTag
        key.membership = RecordMembership(
            namespace: namespace, entity: entity, typeTag: tag, demandsTypeTag: kind == .collection, acceptsOtherTags: true)
        if let chain { return key.evolving(chain) }
        return key.version(version ?? past.schemaVersion ?? 1)
    }

    private static func serializer(_ name: String) -> Serializer<StoredDocument> {
        switch name {
        case "json": .json
        case "plist": .plist
        // It cannot be read as a document, and says so when it is tried.
        default:
            .custom(name: name) { _ in
                throw CocoaError(.coderInvalidValue)
            } decode: { _ in
                throw CocoaError(.coderReadCorrupt)
            }
        }
    }
}

/// The keys and collections of a catalog, by their names.
struct RegisteredEntities: Sendable {
    struct Entity: Sendable {
        let kind: SchemaPlan.EntityKind
        let domain: StorageDomain
        let security: SecurityPolicy
        let version: Int
        let hasChain: Bool
        let typeTag: String
        let serializer: String
        /// Fails for a document that is none of the program's type.
        let check: @Sendable (RecordCoder, StoredDocument) throws -> Void
    }

    let all: [String: Entity]
    /// The names that several entries have.
    let ambiguous: Set<String>
    private let declared: [String: SchemaPlan.DeclaredPlace]
    private let kinds: [String: SchemaPlan.EntityKind]

    init(_ entries: [AnyStorageKey], _ changes: [SchemaPlan.EntityChange]) {
        var all: [String: Entity] = [:]
        var ambiguous: Set<String> = []
        for entry in entries where all.updateValue(Self.entity(entry), forKey: entry.name) != nil { ambiguous.insert(entry.name) }
        self.all = all
        self.ambiguous = ambiguous
        var declared: [String: SchemaPlan.DeclaredPlace] = [:]
        var kinds: [String: SchemaPlan.EntityKind] = all.mapValues(\.kind)
        for change in changes {
            declared[change.entity] = (declared[change.entity] ?? SchemaPlan.DeclaredPlace()).filled(from: change.place)
            if let kind = change.place.kind, kinds[change.entity] == nil { kinds[change.entity] = kind }
        }
        // What an entity was copied or renamed to is of the same kind as it was, and was in the same place if nobody says otherwise.
        for _ in changes {
            for change in changes {
                guard case (let from, let to)? = change.pair else { continue }
                if kinds[from] == nil { kinds[from] = kinds[to] }
                if kinds[to] == nil { kinds[to] = kinds[from] }
                for (one, other) in [(from, to), (to, from)] where all[one] == nil {
                    let there = all[other].map { SchemaPlan.DeclaredPlace(domain: $0.domain, kind: $0.kind, security: $0.security) }
                    guard let there = there ?? declared[other] else { continue }
                    declared[one] = (declared[one] ?? SchemaPlan.DeclaredPlace()).filled(from: there)
                }
            }
        }
        self.declared = declared
        self.kinds = kinds
    }

    /// The versions that the program declares.
    var versions: [String: Int] { all.mapValues(\.version) }

    /// Why a plan cannot touch an entity; nil when it can.
    func problem(of name: String) -> String? {
        if ambiguous.contains(name) { return "the catalog has several keys or collections that are called \(name)" }
        if let entity = all[name] {
            return entity.hasChain
                ? "\(name) has a chain of versions of its own (evolving). Give one of them up" : nil
        }
        return place(of: name) == nil
            ? "the program has no key or collection \(name) any more, and its catalog has several domains: say where it is (in:)" : nil
    }

    /// What a change says of a place and what is known of it differ; nil when they do not.
    func contradiction(in change: SchemaPlan.EntityChange) -> String? {
        guard let place = place(of: change.entity) else { return nil }
        if let domain = change.place.domain, domain != place.domain {
            return "it says that \(change.entity) is in \(domain), and it is in \(place.domain). Give one of them another name"
        }
        if let kind = change.place.kind, kind != place.kind {
            return "it says that \(change.entity) is a \(kind.rawValue), and it is a \(place.kind.rawValue)"
        }
        return nil
    }

    /// Why one cannot become the other; nil when it can.
    func kindsDiffer(_ from: String, _ to: String) -> String? {
        guard let one = place(of: from)?.kind, let other = place(of: to)?.kind, one != other else { return nil }
        return "\(from) is a \(one.rawValue), and \(to) a \(other.rawValue)"
    }

    /// Where an entity is; nil when that cannot be known.
    func place(of name: String) -> EntityPlace? {
        if let entity = all[name] {
            return EntityPlace(entity: name, kind: entity.kind, domain: entity.domain, security: entity.security, registered: entity)
        }
        let places = Set(all.values.map { SchemaPlan.DeclaredPlace(domain: $0.domain, kind: nil, security: $0.security) })
        let said = declared[name]
        guard let domain = said?.domain ?? (Set(places.map(\.domain)).count == 1 ? places.first?.domain : nil) else { return nil }
        let kind = said?.kind ?? kinds[name] ?? .collection
        return EntityPlace(entity: name, kind: kind, domain: domain, security: said?.security ?? .automatic)
    }

    private static func entity(_ entry: AnyStorageKey) -> Entity {
        func open<Key: TypedKey>(_ key: Key, _ kind: SchemaPlan.EntityKind) -> Entity {
            let typed = key.typed
            return Entity(
                kind: kind, domain: typed.domain, security: typed.security, version: typed.schemaVersion,
                hasChain: typed.evolution != nil, typeTag: typed.typeTag, serializer: typed.serializer.name
            ) { coder, document in
                do { _ = try document.decode(Key.Value.self) } catch {
                    if (try? coder.completed(.document(document), typed)) ?? nil != nil { return }
                    throw error
                }
            }
        }
        func opened<Collection: TypedCollection>(_ collection: Collection) -> Entity {
            open(collection.typed.template, .collection)
        }
        if let collection = entry.collection { return opened(collection) }
        return open(entry.base, .key)
    }
}

extension SchemaPlan.EntityChange {
    /// The two entities of a copy or a new name.
    var pair: (from: String, to: String)? {
        switch verb {
        case .copy(let name), .rename(let name): (entity, name)
        default: nil
        }
    }
}
