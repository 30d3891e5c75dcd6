/// The schema version of a catalog's data in one store. It is stored beside the data as a small record.
struct SchemaStamp: Codable, Sendable, Equatable {
    /// The progress of an unfinished step.
    struct Progress: Codable, Sendable, Equatable {
        var step: String
        /// The configuration that is being migrated; nil for all entities.
        var configuration: String?
        var done: Int
        /// The completed parts of the step, then the part that was begun; see ``BuiltStep/noted(in:)``. A part is a
        /// unit of work, or a hook: a closure of the program that runs before or after the step.
        var parts: [String]
    }

    /// The version of every entity that is not in ``entities``.
    var version: String?
    /// The versions of entities that were migrated to a later version than the others, as part of a configuration (a
    /// group of entities).
    var entities: [String: String]?
    var progress: Progress?
    /// Versions before the stamped ones. If a program's current version is one of them, the program is older than the
    /// data.
    var earlier: [String]?

    func version(of entity: String) -> String? { entities?[entity] ?? version }
}
