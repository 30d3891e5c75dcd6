/// The shape of what a catalog's keys and collections store, as this version of the program declares it.
public struct CatalogSchema: Hashable, Sendable, Codable {
    /// The name of the version, which is persisted.
    public var version: String
    /// The entities, each by the name of its key or collection.
    public var entities: [EntityDescription]
    /// Groups of entities that can be migrated by themselves, by their names; an entity may be in several.
    public var configurations: [String: [String]]

    /// Declares a schema.
    public init(_ version: String, entities: [EntityDescription] = [], configurations: [String: [String]] = [:]) {
        self.version = version
        self.entities = entities
        self.configurations = configurations
    }

    /// The entity of a name.
    public func entity(_ name: String) -> EntityDescription? { entities.first { $0.name == name } }
}
