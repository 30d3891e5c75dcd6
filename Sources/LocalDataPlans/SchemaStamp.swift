/// What one store says of the schema of a catalog's data in it: a small record of the catalog's own, beside the data.
struct SchemaStamp: Codable, Sendable, Equatable {
    /// How far an unfinished step is.
    struct Progress: Codable, Sendable, Equatable {
        var step: String
        /// The configuration that was being migrated; nil for all entities.
        var configuration: String?
        var done: Int
        /// The parts that are done, and after them the one that was begun: see ``BuiltStep/noted(in:)``.
        var parts: [String]
    }

    /// The version of every entity that is not named below.
    var version: String?
    /// The versions of entities that were brought further than the others, by a configuration.
    var entities: [String: String]?
    var progress: Progress?
    /// The versions that are known to be earlier than one of those above.
    var earlier: [String]?

    func version(of entity: String) -> String? { entities?[entity] ?? version }
}
