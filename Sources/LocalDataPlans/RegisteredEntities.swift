import BackendContract
import LocalData

/// The keys and collections of a catalog, by name. An entity is a key or a collection. Entities that only a plan
/// mentions are not registered; for these, the locations are stored here, too.
struct RegisteredEntities: Sendable {
    let all: [String: DeclaredEntity]
    /// Names that more than one entry has.
    let ambiguous: Set<String>
    private let declared: [String: SchemaPlan.DeclaredPlace]
    private let kinds: [String: SchemaPlan.EntityKind]

    init(_ entries: [AnyStorageKey], _ changes: [SchemaPlan.EntityChange]) {
        var all: [String: DeclaredEntity] = [:]
        var ambiguous: Set<String> = []
        for entry in entries where all.updateValue(entry.declaredEntity, forKey: entry.name) != nil { ambiguous.insert(entry.name) }
        self.all = all
        self.ambiguous = ambiguous
        var declared: [String: SchemaPlan.DeclaredPlace] = [:]
        var kinds: [String: SchemaPlan.EntityKind] = all.mapValues(\.kind)
        for change in changes {
            declared[change.entity] = (declared[change.entity] ?? SchemaPlan.DeclaredPlace()).filled(from: change.place)
            if let kind = change.place.kind, kinds[change.entity] == nil { kinds[change.entity] = kind }
        }
        // A copied or renamed entity has the kind of its source. It also has the location of its source, unless the
        // plan names another location.
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

    /// The declared version of each entity.
    var versions: [String: Int] { all.mapValues(\.version) }

    /// The reason why a plan cannot change an entity; nil if it can.
    func problem(of name: String) -> String? {
        if ambiguous.contains(name) { return "the catalog has several keys or collections that are called \(name)" }
        if let entity = all[name] {
            return entity.hasChain
                ? "\(name) has a chain of versions too (evolving). Remove one of them" : nil
        }
        return place(of: name) == nil
            ? "the program has no key or collection \(name) any more, and its catalog has several domains: say where it is (in:)" : nil
    }

    /// A contradiction between the location that a change declares and the actual location; nil if there is none.
    func contradiction(in change: SchemaPlan.EntityChange) -> String? {
        guard let place = place(of: change.entity) else { return nil }
        if let domain = change.place.domain, domain != place.domain {
            return "it says that \(change.entity) is in \(domain), and it is in \(place.domain). Give one of them another name"
        }
        let known: SchemaPlan.EntityKind = place.isCollection ? .collection : .key
        if let kind = change.place.kind, kind != known {
            return "it says that \(change.entity) is a \(kind.rawValue), and it is a \(known.rawValue)"
        }
        return nil
    }

    /// The reason why one entity cannot be copied or renamed to the other; nil if it can.
    func kindsDiffer(_ from: String, _ to: String) -> String? {
        guard let one = place(of: from), let other = place(of: to), one.isCollection != other.isCollection else { return nil }
        return one.isCollection ? "\(from) is a collection, and \(to) a key" : "\(from) is a key, and \(to) a collection"
    }

    /// The location of an entity; nil if it cannot be determined.
    func place(of name: String) -> DocumentPlace? {
        if let entity = all[name] { return DocumentPlace(name, entity) }
        let places = Set(all.values.map { SchemaPlan.DeclaredPlace(domain: $0.domain, kind: nil, security: $0.security) })
        let said = declared[name]
        guard let domain = said?.domain ?? (Set(places.map(\.domain)).count == 1 ? places.first?.domain : nil) else { return nil }
        let kind = said?.kind ?? kinds[name] ?? .collection
        return DocumentPlace(name, isCollection: kind == .collection, domain: domain, security: said?.security ?? .automatic)
    }
}

extension DeclaredEntity {
    var kind: SchemaPlan.EntityKind { isCollection ? .collection : .key }
}

extension SchemaPlan.EntityChange {
    /// The source and destination of a copy or rename; nil for other changes.
    var pair: (from: String, to: String)? {
        switch verb {
        case .copy(let name), .rename(let name): (entity, name)
        default: nil
        }
    }
}
