import LocalDataTesting

/// The file with the steps of one release.
struct StepSource {
    /// The first line of each generated file.
    static let header = "// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it."

    /// The name of the enum, and of the file without its extension.
    let type: String
    let catalog: CatalogNames
    let release: Int
    let steps: [MigrationStep]

    /// The content of the file.
    var text: String {
        """
        \(Self.header)
        import LocalData

        /// The steps of release \(release) of the catalog \(catalog.title).
        enum \(type) {
        \(steps.map(function).joined(separator: "\n\n"))
        }

        """
    }

    /// The function of one step. It throws until a person has written it, so no value is changed.
    func function(_ step: MigrationStep) -> String {
        let changes = step.changes.map { "/// * \(SwiftText.line($0.text))" }
        let suggestions = StepDraft(step.changes).lines.map { $0.hasPrefix("//") ? $0 : "// \($0)" }
        var lines = ["/// Converts a value of \(step.title) from version \(step.from) to version \(step.to)."]
        if !changes.isEmpty { lines += ["///", "/// The changes since version \(step.from):"] + changes }
        lines += ["///", "/// \(step.instruction(in: type))"]
        lines.append("@Sendable nonisolated static func \(step.function)(_ document: inout StoredDocument) throws {")
        if !suggestions.isEmpty { lines += (["// Suggestion:"] + suggestions).map { "    \($0)" } }
        lines += [
            "    throw StorageError(",
            "        .migrationFailed, key: \(SwiftText.literal(step.entity)),",
            "        \"The step to version \(step.to) is not written. Write \(type).\(step.function).\")",
            "}",
        ]
        return lines.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
    }
}
