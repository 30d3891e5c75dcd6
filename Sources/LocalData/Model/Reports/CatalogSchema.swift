/// The shapes of the values that a catalog stores, as this version of the program declares them.
///
/// Declare it in ``StorageKeyCatalog/schema`` if a migration plan of the module `LocalDataPlans` converts the stored
/// values. Without a plan it has no effect.
///
/// ```swift
/// let schema = CatalogSchema(
///     "V2", entities: [EntityDescription("notes", version: 2, [AttributeDescription("title", .string)])],
///     configurations: ["text": ["notes"]])
/// print(schema.entity("notes")?.version ?? 0)  // 2
/// ```
public struct CatalogSchema: Hashable, Sendable, Codable {
    /// The name of the schema version, which is persisted.
    public var version: String
    /// The entities. Each one has the name of its key or collection.
    public var entities: [EntityDescription]
    /// Named groups of entities that can be migrated separately. An entity may be in several groups.
    public var configurations: [String: [String]]

    /// Creates a schema.
    public init(_ version: String, entities: [EntityDescription] = [], configurations: [String: [String]] = [:]) {
        (self.version, self.entities, self.configurations) = (version, entities, configurations)
    }

    /// Returns the entity of a name; nil if there is none.
    public func entity(_ name: String) -> EntityDescription? { entities.first { $0.name == name } }
}
