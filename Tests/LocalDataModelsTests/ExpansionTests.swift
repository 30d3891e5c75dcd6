#if Macros
    import LocalDataMacros
    import SwiftSyntax
    import SwiftSyntaxMacroExpansion
    import SwiftSyntaxMacros
    import SwiftSyntaxMacrosGenericTestSupport
    import TestSupport
    import Testing

    /// What the macros write, letter by letter, and what they refuse.
    @Suite(.inTurn) struct ExpansionTests {
        /// Expects what becomes of a source, or what is said about it.
        private func expect(
            _ source: String, becomes expanded: String, _ diagnostics: [DiagnosticSpec] = [], _ location: SourceLocation = #_sourceLocation
        ) {
            assertMacroExpansion(
                source, expandedSource: expanded, diagnostics: diagnostics,
                macroSpecs: [
                    "StorageModel": MacroSpec(type: StorageModelMacro.self, conformances: ["StorageModel"]),
                    "Attribute": MacroSpec(type: PropertyMarkMacro.self), "Transient": MacroSpec(type: PropertyMarkMacro.self),
                ],
                failureHandler: { Issue.record(Comment(rawValue: $0.message), sourceLocation: location) })
        }

        /// Expects a refusal that says what to do.
        private func expectRefusal(
            _ source: String, becomes expanded: String, saying message: String, line: Int, column: Int,
            _ location: SourceLocation = #_sourceLocation
        ) {
            expect(source, becomes: expanded, [DiagnosticSpec(message: message, line: line, column: column)], location)
        }

        @Test func `every kind of property`() {
            expect(
                """
                @StorageModel struct Note {
                    var title: String
                    var stars: Int = 0
                    let id: UUID
                    var due: Date?
                    var tags: [String] = []
                    var color: Color?
                    var ratio: Double = -1.5
                    var counts: [String: Int] = [:]
                    static let shared = 1
                    var shout: String { title.uppercased() }
                }
                """,
                becomes: """
                    struct Note {
                        var title: String
                        var stars: Int = 0
                        let id: UUID
                        var due: Date?
                        var tags: [String] = []
                        var color: Color?
                        var ratio: Double = -1.5
                        var counts: [String: Int] = [:]
                        static let shared = 1
                        var shout: String { title.uppercased() }
                    }

                    extension Note: LocalData.StorageModel {
                        static var attributes: [LocalData.AttributeDescription] {
                            [
                                .init("title", .string),
                                .init("stars", .integer, default: 0),
                                .init("id", .uuid),
                                .init("due", .date, isOptional: true),
                                .init("tags", .array(.string), default: []),
                                .init("color", of: Color?.self),
                                .init("ratio", .double, default: -1.5),
                                .init("counts", .dictionary(.integer), default: [:]),
                            ]
                        }
                    }
                    """)
        }
    }
#endif
