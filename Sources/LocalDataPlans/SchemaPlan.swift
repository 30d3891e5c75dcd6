public import LocalData

/// The statements of a migration plan, which describe how stored entities change. An entity is a key or a collection,
/// identified by its name.
///
/// Use a plan to migrate all collections of a catalog from version to version. For one key or collection, `Evolution`
/// is simpler. A plan converts stored documents, so the Swift types of earlier versions are not needed.
///
/// ```swift
/// let step = SchemaPlan.ModelMigration("V2") {
///     SchemaPlan.UpdateEntity("notes") {
///         SchemaPlan.AddAttribute("stars", attributeType: .integer, default: 0)
///         SchemaPlan.RemoveAttribute("draft")
///     }
/// }
/// ```
///
/// The module `LocalDataVocabulary` declares the statements without the prefix `SchemaPlan.`. Pass the plan to
/// `StorageRouter.registerCatalog(_:migrationPolicy:configuration:)`. All plans are checked before anything is written.
///
/// Each record stores the version of its entity. The version is 1 for an entity that a plan adds, copies or renames,
/// and each `UpdateEntity` increments it. Declare the registered key or collection with the last version of the plan:
/// `.version(2)`.
public enum SchemaPlan {
    /// The kind of an entity that has no registered key or collection.
    ///
    /// ```swift
    /// let old = SchemaPlan.RemoveEntity("theme", in: .userDefaults, as: .key)  // no registered key has this name any more
    /// ```
    public enum EntityKind: String, Sendable, Hashable {
        /// A collection of records.
        case collection
        /// A single key. It has one record, which is one document.
        case key
    }

    /// The location of an entity that has no registered key or collection.
    struct DeclaredPlace: Sendable, Hashable {
        var domain: StorageDomain?
        var kind: EntityKind?
        var security: SecurityPolicy = .automatic

        /// This location, with missing properties filled from another one. The security policy is filled only if the
        /// two domains do not differ.
        func filled(from other: DeclaredPlace) -> DeclaredPlace {
            let isThere = domain == nil || other.domain == nil || domain == other.domain
            return DeclaredPlace(
                domain: domain ?? other.domain, kind: kind ?? other.kind,
                security: security == .automatic && isThere ? other.security : security)
        }
    }

    /// One change of a plan, created by ``AddEntity``, ``UpdateEntity``, ``CopyEntity``, ``RenameEntity`` or ``RemoveEntity``.
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

        /// The statement and the entity as text, for messages.
        var spelling: String {
            switch verb {
            case .add: "AddEntity \(entity)"
            case .update: "UpdateEntity \(entity)"
            case .copy(let name): "CopyEntity \(entity) to \(name)"
            case .rename(let name): "RenameEntity \(entity) to \(name)"
            case .remove: "RemoveEntity \(entity)"
            }
        }

        /// A text that identifies the change. It is stored in the schema stamps, the records in which each store keeps
        /// the version of its data and the progress of a migration. After a crash, the next run compares the texts
        /// there with its plan, to continue only a plan that begins with the same changes.
        /// Reason: "A stamp records the parts of a step that are done" in Docs/Decisions/Evolution.md.
        var identity: String {
            guard case .update(let changes) = verb, !changes.isEmpty else { return spelling }
            return "\(spelling): \(changes.map(\.identity).joined(separator: ", "))"
        }

        /// The entities that the change reads or writes.
        var involved: [String] { pair.map { [$0.from, $0.to] } ?? [entity] }
    }

    /// Declares an entity that is new in this version of the plan, with its attributes. The step itself writes no
    /// record. The attributes are used to check the plan: a later step may change or remove only attributes that the
    /// plan has added, and the last version of the plan must have the attributes of the declared schema.
    ///
    /// ```swift
    /// let first = SchemaPlan.ModelMigration("V1") {
    ///     SchemaPlan.AddEntity("notes", in: .encryptedSQLite(database: "main")) {
    ///         SchemaPlan.AddAttribute("id", attributeType: .string)
    ///         SchemaPlan.AddAttribute("title", attributeType: .string)
    ///     }
    /// }
    /// ```
    public struct AddEntity: Sendable {
        let change: EntityChange

        /// Declares a new entity.
        /// - Parameters:
        ///   - name: The name of the key or collection.
        ///   - domain: The domain of the entity. Required only if no key or collection of the name is registered and the catalog has
        ///     several domains.
        ///   - kind: The kind of the entity, if it is not registered; a collection by default.
        ///   - security: The security policy of its records, if the entity is not registered.
        ///   - attributes: Its attributes, each declared by ``AddAttribute``.
        public init(
            _ name: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil, security: SecurityPolicy = .automatic,
            @AttributeChanges _ attributes: () -> [AttributeChange] = { [] }
        ) {
            change = EntityChange(
                entity: name, verb: .add(attributes()), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Changes the attributes of an entity. It rewrites every record, in batches of one commit each.
    ///
    /// ```swift
    /// let second = SchemaPlan.ModelMigration("V2") {
    ///     SchemaPlan.UpdateEntity("notes") {
    ///         SchemaPlan.UpdateAttribute("title", to: "heading")
    ///         SchemaPlan.AddAttribute("stars", attributeType: .integer, default: 0)
    ///     }
    /// }
    /// ```
    public struct UpdateEntity: Sendable {
        let change: EntityChange

        /// Changes an entity.
        /// - Parameters:
        ///   - name: The entity.
        ///   - domain: The domain of the entity, if it is not registered.
        ///   - kind: The kind of the entity, if it is not registered.
        ///   - security: The security policy of its records, if the entity is not registered.
        ///   - changes: The attribute changes, in the order in which they are made.
        public init(
            _ name: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil, security: SecurityPolicy = .automatic,
            @AttributeChanges _ changes: () -> [AttributeChange]
        ) {
            change = EntityChange(
                entity: name, verb: .update(changes()), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Copies the records of an entity to a new entity, with the same ids. Later changes of one do not affect the other.
    ///
    /// ```swift
    /// let third = SchemaPlan.ModelMigration("V3") { SchemaPlan.CopyEntity("notes", to: "archive") }
    /// ```
    public struct CopyEntity: Sendable {
        let change: EntityChange

        /// Copies an entity. The step fails if the new entity already has a different record with the same id.
        /// - Parameters:
        ///   - name: The entity.
        ///   - newName: The name of the copy.
        ///   - domain: The domain of the entity, if it is not registered.
        ///   - kind: The kind of the entity, if it is not registered.
        ///   - security: The security policy of its records, if the entity is not registered.
        public init(
            _ name: String, to newName: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil,
            security: SecurityPolicy = .automatic
        ) {
            change = EntityChange(
                entity: name, verb: .copy(to: newName), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Renames an entity. Its records move with the same ids. Each record is durable at the destination before the original is deleted.
    ///
    /// ```swift
    /// let fourth = SchemaPlan.ModelMigration("V4") { SchemaPlan.RenameEntity("notes", to: "pages") }
    /// ```
    public struct RenameEntity: Sendable {
        let change: EntityChange

        /// Renames an entity. The step fails if the new entity already has a different record with the same id.
        /// - Parameters:
        ///   - name: The entity.
        ///   - newName: Its new name.
        ///   - domain: The domain of the entity, if it is not registered.
        ///   - kind: The kind of the entity, if it is not registered.
        ///   - security: The security policy of its records, if the entity is not registered.
        public init(
            _ name: String, to newName: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil,
            security: SecurityPolicy = .automatic
        ) {
            change = EntityChange(
                entity: name, verb: .rename(to: newName), place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Removes an entity and its records.
    ///
    /// ```swift
    /// let fifth = SchemaPlan.ModelMigration("V5") { SchemaPlan.RemoveEntity("archive") }  // its records become backups
    /// ```
    public struct RemoveEntity: Sendable {
        let change: EntityChange

        /// Removes an entity.
        /// - Parameters:
        ///   - name: The entity.
        ///   - domain: The domain of the entity, if it is not registered.
        ///   - kind: The kind of the entity, if it is not registered.
        ///   - security: The security policy of its records, if the entity is not registered.
        ///   - keepingBackup: Whether to keep the records as backups in the same store. The default is true.
        public init(
            _ name: String, in domain: StorageDomain? = nil, as kind: EntityKind? = nil, security: SecurityPolicy = .automatic,
            keepingBackup: Bool = true
        ) {
            change = EntityChange(
                entity: name, verb: .remove(keepsBackup: keepingBackup),
                place: DeclaredPlace(domain: domain, kind: kind, security: security))
        }
    }

    /// Builds the entity changes of a step.
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
        /// An array of changes.
        public static func buildExpression(_ changes: [EntityChange]) -> [EntityChange] { changes }
        /// All changes of a block, in order.
        public static func buildBlock(_ parts: [EntityChange]...) -> [EntityChange] { parts.flatMap(\.self) }
        /// The changes of an `if` without an `else`.
        public static func buildOptional(_ part: [EntityChange]?) -> [EntityChange] { part ?? [] }
        /// The changes of the first branch.
        public static func buildEither(first part: [EntityChange]) -> [EntityChange] { part }
        /// The changes of the second branch.
        public static func buildEither(second part: [EntityChange]) -> [EntityChange] { part }
        /// The changes of a loop.
        public static func buildArray(_ parts: [[EntityChange]]) -> [EntityChange] { parts.flatMap(\.self) }
    }
}
