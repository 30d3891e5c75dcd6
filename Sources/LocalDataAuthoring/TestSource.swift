import Foundation
import LocalData
import LocalDataTesting

/// The generated tests of a catalog.
struct TestSource {
    let catalog: CatalogNames
    /// The path of the recorded files, relative to the folder of the tests.
    let folder: String

    /// The test of the recorded shapes and of every recorded release. It is the same for all releases.
    var releases: String {
        """
        \(imports())
        /// The stored values of the catalog \(catalog.title): their shapes, and the values of every recorded release.
        @Suite struct \(catalog.identifier)ReleaseTests {
            @Test func `the stored values have the recorded shapes`() throws {
                try requireSchemaUnchanged(\(catalog.type)(), snapshot: \(SwiftText.literal("\(folder)/schema.json")))
            }

            @Test func `this release reads the values of every recorded release`() async throws {
                try await GoldenStore.replay(\(catalog.type)(), in: \(SwiftText.literal(folder)))
            }
        }

        """
    }

    /// The test of the steps of one release.
    /// - Parameters:
    ///   - source: The steps.
    ///   - previous: The number of the recorded release before it.
    ///   - plain: The values that this release wrote, without the protected ones.
    ///   - protected: The names of the protected keys that have a value.
    func steps(_ source: StepSource, previous: Int, plain: [String: StoredDocument], protected: Set<String>) throws -> String {
        let checks = try source.steps.map { step in
            let name = SwiftText.literal(step.entity)
            if let before = plain[step.entity] {
                let after = try draft(step, before)
                return """
                            // Release \(previous) wrote \(SwiftText.line(try json(before))). State the value that the step makes of it.
                            let \(variable(step)) = try StoredDocument(json: Data(\(SwiftText.rawLiteral(try json(after))).utf8))
                            #expect(values[\(name)] == \(variable(step)))
                    """
            }
            let fact =
                protected.contains(step.entity)
                ? "The value of \(step.title) is protected, so it is not shown here."
                : "Release \(previous) has no value of \(step.title). Record one with the parameter `fill` of `MigrationAuthoring.main`."
            return """
                        // \(fact)
                        #expect(values[\(name)] != nil)
                """
        }
        return """
            \(imports("Foundation"))
            /// The steps of release \(source.release) of the catalog \(catalog.title).
            @Suite struct \(source.type)Tests {
                @Test func `release \(source.release) reads the values of release \(previous)`() async throws {
                    let values = try await GoldenStore.read("\(previous)", of: \(catalog.type)(), in: \(SwiftText.literal(folder)))
            \(checks.joined(separator: "\n"))
                }
            }

            """
    }

    /// The value that the draft of a step makes of a value. For a collection, of each record.
    private func draft(_ step: MigrationStep, _ before: StoredDocument) throws -> StoredDocument {
        let draft = StepDraft(step.changes)
        guard step.isCollection, let records = before.root.object else { return draft.applied(to: before) }
        return StoredDocument(.object(records.mapValues { draft.applied(to: StoredDocument($0)).root }))
    }

    private func variable(_ step: MigrationStep) -> String { "expected\(step.function.dropFirst("convert".count))" }

    private func json(_ document: StoredDocument) throws -> String { String(decoding: try document.json(), as: UTF8.self) }

    private func imports(_ foundation: String? = nil) -> String {
        let modules = ([foundation].compactMap(\.self) + ["LocalData", "LocalDataTesting", "Testing"]).map { "import \($0)" }
        return ([StepSource.header] + modules + ["", "@testable import \(catalog.module)", ""]).joined(separator: "\n")
    }
}
