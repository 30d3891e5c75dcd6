import LocalDataTesting

/// A step that the values of one key or collection need.
struct MigrationStep: Sendable {
    /// The name of the key or collection in the snapshot.
    let entity: String
    let isCollection: Bool
    /// Whether the key declares a chain of versions, to which the step must be added.
    let hasChain: Bool
    /// The latest recorded version.
    let from: Int
    /// The version after the step.
    let to: Int
    let changes: [SchemaChange]
    /// Whether the values are documents: JSON or a property list.
    let changesDocuments: Bool

    /// The name of the function that does the step.
    let function: String

    /// Returns the steps that a catalog needs, sorted by the names of the keys.
    static func all(_ shapes: [EntityShape], _ changes: [SchemaChange], recorded: CatalogSnapshot) -> [MigrationStep] {
        let named = CatalogSnapshot.named(shapes)
        let identifiers = SwiftText.identifiers(named.map(\.0))
        return named.sorted { $0.0 < $1.0 }.compactMap { name, shape in
            let own = changes.filter { $0.entity == name }
            guard own.contains(where: { $0.effect == .needsStep }), let from = recorded.version(of: name) else { return nil }
            return MigrationStep(
                entity: name, isCollection: shape.isCollection, hasChain: shape.hasChain, from: from, to: max(from + 1, shape.version),
                changes: own.filter { $0.part != .other },
                changesDocuments: ["json", "plist"].contains(shape.serializer), function: "convert\(identifiers[name] ?? "Value")")
        }
    }

    /// The kind and the name of the entity, for people.
    var title: String { "the \(isCollection ? "collection" : "key") \(SwiftText.line(entity))" }

    /// The code that adds the step to the declaration of the key.
    func declaration(in type: String) -> String {
        let step = ".to(version: \(to), \(type).\(function))"
        return hasChain ? step : ".evolving(Evolution.from(version: \(from))\(step))"
    }

    /// The instruction that adds the step to the declaration of the key.
    func instruction(in type: String) -> String {
        let code = declaration(in: type)
        return hasChain ? "Add `\(code)` to the chain of \(title)." : "Declare \(title) with `\(code)`."
    }
}
