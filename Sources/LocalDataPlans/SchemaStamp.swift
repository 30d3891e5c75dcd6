/// The schema version of a catalog's data in one store. It is stored beside the data as a small record.
struct SchemaStamp: Codable, Sendable, Equatable {
    /// The progress of an unfinished step.
    struct Progress: Codable, Sendable, Equatable {
        var step: String
        /// The configuration that is being migrated; nil for all entities.
        var configuration: String?
        var done: Int
        /// The completed parts, followed by the part that was begun; see ``BuiltStep/noted(in:)``.
        var parts: [String]
    }

    /// The version of every entity that `entities` does not name.
    var version: String?
    /// The versions of entities that the migration of a configuration has brought to a later version than the others.
    var entities: [String: String]?
    var progress: Progress?
    /// Versions that precede the versions above.
    var earlier: [String]?

    func version(of entity: String) -> String? { entities?[entity] ?? version }
}
