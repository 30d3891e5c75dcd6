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

/// What a catalog's stores say of the schema of what they hold.
public struct StoredSchema: Sendable, Hashable {
    /// The version that each entity was stamped with; those without a stamp are not in it.
    public let versions: [String: String]
    /// The entities of which there is data.
    public let entitiesWithData: Set<String>

    /// Whether there is neither a stamp nor data.
    public var isEmpty: Bool { versions.isEmpty && entitiesWithData.isEmpty }

    /// The one version that everything is stamped with; nil where there is none, or there are several.
    public var version: String? { Set(versions.values).count == 1 ? versions.first?.value : nil }
}
