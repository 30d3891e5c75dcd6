public import LocalData

/// The words in which a plan says how stored entities change: an entity is a key or a collection, by its name.
///
/// A plan works on stored documents, so the Swift types of earlier versions need not exist any more. The module `LocalDataVocabulary` has the words under their bare names:
///
/// ```swift
/// ModelMigration("V2") {
///     UpdateEntity("notes") {
///         AddAttribute("stars", attributeType: .integer, default: 0)
///         RemoveAttribute("draft")
///     }
/// }
/// ```
///
/// A record carries the version of its entity. It is 1 for an entity that a plan adds, copies or renames, and each `UpdateEntity` raises it by one. The key or collection
/// that the program registers has to be declared with the version that the plan ends in: `.version(2)`.
public enum SchemaPlan {
    /// What an entity is that has no registered key or collection.
    public enum EntityKind: String, Sendable, Hashable {
        /// A collection of records.
        case collection
        /// A single key: its record is one document.
        case key
    }

    /// Where an entity is that the program has no key or collection for any more.
    struct DeclaredPlace: Sendable, Hashable {
        var domain: StorageDomain?
        var kind: EntityKind?
        var security: SecurityPolicy = .automatic

        /// This place, with what another one says where this one says nothing. What is in another domain is sealed in its own way.
        func filled(from other: DeclaredPlace) -> DeclaredPlace {
            let isThere = domain == nil || other.domain == nil || domain == other.domain
            return DeclaredPlace(
                domain: domain ?? other.domain, kind: kind ?? other.kind,
                security: security == .automatic && isThere ? other.security : security)
        }
    }

    /// One change of a plan: what ``AddEntity``, ``UpdateEntity``, ``CopyEntity``, ``RenameEntity`` and ``RemoveEntity`` stand for.
    public struct EntityChange: Sendable {
        enum Verb: Sendable {
            case add([AttributeChange])
            case update([AttributeChange])
            case copy(to: String)
            case rename(to: String)
            case remove(keepsBackup: Bool)
        }

        let entity: String
        let verb: Verb
        let place: DeclaredPlace

        /// The verb and the entity, as messages name them.
        var spelling: String {
            switch verb {
            case .add: "AddEntity \(entity)"
            case .update: "UpdateEntity \(entity)"
            case .copy(let name): "CopyEntity \(entity) to \(name)"
            case .rename(let name): "RenameEntity \(entity) to \(name)"
            case .remove: "RemoveEntity \(entity)"
            }
        }

        /// What it does, in words that are the same for the same change.
        var identity: String {
            guard case .update(let changes) = verb, !changes.isEmpty else { return spelling }
            return "\(spelling): \(changes.map(\.identity).joined(separator: ", "))"
        }

        /// The entities that it reads or changes.
        var involved: [String] {
            switch verb {
            case .copy(let name), .rename(let name): [entity, name]
            default: [entity]
            }
        }
    }

    /// A new entity. Nothing is stored for it; its attributes are what later steps, and the declared schema, build on.
    public struct AddEntity: Sendable {
        let change: EntityChange

        /// Adds an entity.
        /// - Parameters:
        ///   - name: The name of the key or collection.
        ///   - domain: Where it lives, if the program has no key or collection of the name any more and the catalog has several domains.
        ///   - kind: What it is, if the program has none of the name any more; a collection when not given.
        ///   - security: How its records are sealed, if the program has none of the name any more.
        ///   - attributes: Its attributes, each by ``AddAttribute``.
        public init(
            _ name: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil, security: SecurityPolicy = .automatic,
            @AttributeChanges _ attributes: () -> [AttributeChange] = { [] }
        ) {
            change = EntityChange(
                entity: name, verb: .add(attributes()), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// A change of an entity's attributes: every record of it is written anew, a page in one commit.
    public struct UpdateEntity: Sendable {
        let change: EntityChange

        /// Changes an entity.
        /// - Parameters:
        ///   - name: The entity.
        ///   - domain: Where the entity lives, if the program has no key or collection of its name any more.
        ///   - kind: What it is, if the program has none of its name any more.
        ///   - security: How its records are sealed, if the program has none of its name any more.
        ///   - changes: The changes of its attributes, made in their order.
        public init(
            _ name: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil, security: SecurityPolicy = .automatic,
            @AttributeChanges _ changes: () -> [AttributeChange]
        ) {
            change = EntityChange(
                entity: name, verb: .update(changes()), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// A second entity with the records of one, under their ids. Both are independent from then on.
    public struct CopyEntity: Sendable {
        let change: EntityChange

        /// Copies an entity. Fails the step if the copy has a different record with one of the ids.
        /// - Parameters:
        ///   - name: The entity.
        ///   - newName: The new one.
        ///   - domain: Where the entity lives, if the program has no key or collection of its name any more.
        ///   - kind: What it is, if the program has none of its name any more.
        ///   - security: How its records are sealed, if the program has none of its name any more.
        public init(
            _ name: String, to newName: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil,
            security: SecurityPolicy = .automatic
        ) {
            change = EntityChange(
                entity: name, verb: .copy(to: newName), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Another name for an entity: its records move under their ids. Each is durable in its new place before the old one goes.
    public struct RenameEntity: Sendable {
        let change: EntityChange

        /// Renames an entity. Fails the step if the new entity has a different record with one of the ids.
        /// - Parameters:
        ///   - name: The entity.
        ///   - newName: Its new name.
        ///   - domain: Where the entity lives, if the program has no key or collection of its name any more.
        ///   - kind: What it is, if the program has none of its name any more.
        ///   - security: How its records are sealed, if the program has none of its name any more.
        public init(
            _ name: String, to newName: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil,
            security: SecurityPolicy = .automatic
        ) {
            change = EntityChange(
                entity: name, verb: .rename(to: newName), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// The end of an entity: its records are removed.
    public struct RemoveEntity: Sendable {
        let change: EntityChange

        /// Removes an entity.
        /// - Parameters:
        ///   - name: The entity.
        ///   - domain: Where the entity lives, if the program has no key or collection of its name any more.
        ///   - kind: What it is, if the program has none of its name any more.
        ///   - security: How its records are sealed, if the program has none of its name any more.
        ///   - keepingBackup: Whether its records are kept as backups in the same store: unless the plan says otherwise, they are.
        public init(
            _ name: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil, security: SecurityPolicy = .automatic,
            keepingBackup: Bool = true
        ) {
            change = EntityChange(
                entity: name, verb: .remove(keepsBackup: keepingBackup),
                place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Puts the changes of a step together.
    @resultBuilder public enum EntityChanges {
        /// A new entity.
        public static func buildExpression(_ verb: AddEntity) -> [EntityChange] { [verb.change] }
        /// A changed entity.
        public static func buildExpression(_ verb: UpdateEntity) -> [EntityChange] { [verb.change] }
        /// A copied entity.
        public static func buildExpression(_ verb: CopyEntity) -> [EntityChange] { [verb.change] }
        /// A renamed entity.
        public static func buildExpression(_ verb: RenameEntity) -> [EntityChange] { [verb.change] }
        /// A removed entity.
        public static func buildExpression(_ verb: RemoveEntity) -> [EntityChange] { [verb.change] }
        /// Changes that were put together elsewhere.
        public static func buildExpression(_ changes: [EntityChange]) -> [EntityChange] { changes }
        /// One after the other.
        public static func buildBlock(_ parts: [EntityChange]...) -> [EntityChange] { parts.flatMap(\.self) }
        /// Those of an `if`.
        public static func buildOptional(_ part: [EntityChange]?) -> [EntityChange] { part ?? [] }
        /// Those of the first branch.
        public static func buildEither(first part: [EntityChange]) -> [EntityChange] { part }
        /// Those of the other branch.
        public static func buildEither(second part: [EntityChange]) -> [EntityChange] { part }
        /// Those of a loop.
        public static func buildArray(_ parts: [[EntityChange]]) -> [EntityChange] { parts.flatMap(\.self) }
    }
}
