/// The schema of the values that a catalog's keys and collections store, as this version of the program declares it.
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
