#if Macros
    import LocalDataMacros
    import SwiftSyntax
    import SwiftSyntaxMacroExpansion
    import SwiftSyntaxMacros
    import SwiftSyntaxMacrosGenericTestSupport
    import TestSupport
    import Testing

    /// The exact code that the macros `@StorageModel`, `@Attribute` and `@Transient` generate, and the declarations
    /// that `@StorageModel` refuses.
    @Suite(.inTurn) struct ExpansionTests {
        /// Expects that the macros expand a source text to another text, and that the compiler reports the given
        /// diagnostics.
        private func expect(
            _ source: String, becomes expanded: String, _ diagnostics: [DiagnosticSpec] = [],
            _ location: Testing.SourceLocation = #_sourceLocation
        ) {
            assertMacroExpansion(
                source, expandedSource: expanded, diagnostics: diagnostics,
                macroSpecs: [
                    "StorageModel": MacroSpec(
                        type: StorageModelMacro.self, conformances: [TypeSyntax(IdentifierTypeSyntax(name: .identifier("StorageModel")))]),
                    "Attribute": MacroSpec(type: PropertyMarkMacro.self), "Transient": MacroSpec(type: PropertyMarkMacro.self),
                ],
                failureHandler: { Issue.record(Comment(rawValue: $0.message), sourceLocation: location) })
        }

        /// Expects one diagnostic, which says what to do.
        private func expectRefusal(
            _ source: String, becomes expanded: String, saying message: String, line: Int, column: Int,
            _ location: Testing.SourceLocation = #_sourceLocation
        ) {
            expect(source, becomes: expanded, [DiagnosticSpec(message: message, line: line, column: column)], location)
        }

        @Test func `the macro gives an indexed property the path to its value`() {
            expect(
                """
                @StorageModel struct Note {
                    @Attribute(name: "label", indexed: true) var tag: String
                    @Attribute(indexed: false) var text: String
                }
                """,
                becomes: """
                    struct Note {
                        var tag: String
                        var text: String

                        private enum CodingKeys: String, CodingKey {
                            case tag = "label"
                            case text
                        }
                    }

                    extension Note: LocalData.StorageModel {
                        static var attributes: [LocalData.AttributeDescription] {
                            [
                                .init("label", .string).indexed(\\Note.tag),
                                .init("text", .string),
                            ]
                        }
                    }
                    """)
        }

        @Test func `a property that is not stored cannot be indexed`() {
            expectRefusal(
                """
                @StorageModel struct Note {
                    @Transient @Attribute(indexed: true) var isSelected = false
                }
                """,
                becomes: """
                    struct Note {
                        var isSelected = false
                    }
                    """,
                saying: "'isSelected' is not stored, so no attribute can be derived from it", line: 2, column: 46)
        }

        @Test func `the macro describes every kind of stored property`() {
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

        @Test func `stored names can differ from the names of properties, and properties that are not stored are left out`() {
            expect(
                """
                @StorageModel public struct Note {
                    @Attribute(originalName: "heading") var title: String
                    @Attribute(name: "star_count", originalName: "rating") var stars: Int = 0
                    var `default`: Bool
                    @Transient var isSelected = false
                    @Transient var cache: Cache?
                    var watched: Int = 1 { didSet { print(watched) } }
                }
                """,
                becomes: """
                    public struct Note {
                        var title: String
                        var stars: Int = 0
                        var `default`: Bool
                        var isSelected = false
                        var cache: Cache?
                        var watched: Int = 1 { didSet { print(watched) } }

                        private enum CodingKeys: String, CodingKey {
                            case title
                            case stars = "star_count"
                            case `default`
                            case watched
                        }
                    }

                    extension Note: LocalData.StorageModel {
                        public static var attributes: [LocalData.AttributeDescription] {
                            [
                                .init("title", .string, originalName: "heading"),
                                .init("star_count", .integer, default: 0, originalName: "rating"),
                                .init("default", .boolean),
                                .init("watched", .integer, default: 1),
                            ]
                        }
                    }
                    """)
        }

        @Test func `declared CodingKeys are used and not generated again`() {
            expect(
                """
                @StorageModel struct Note {
                    var title: String
                    var a, b: Int
                    var hidden: Int = 0
                    enum CodingKeys: String, CodingKey {
                        case title = "t", a, b
                    }
                }
                """,
                becomes: """
                    struct Note {
                        var title: String
                        var a, b: Int
                        var hidden: Int = 0
                        enum CodingKeys: String, CodingKey {
                            case title = "t", a, b
                        }
                    }

                    extension Note: LocalData.StorageModel {
                        static var attributes: [LocalData.AttributeDescription] {
                            [
                                .init("t", .string),
                                .init("a", .integer),
                                .init("b", .integer),
                            ]
                        }
                    }
                    """)
        }

        @Test func `a class, qualified type names and defaults that are not literals are supported`() {
            expect(
                """
                @StorageModel final class Note: Codable {
                    let id: Foundation.UUID
                    let tags: Set<String>
                    let parts: Array<Part>
                    let best: Optional<Part>
                    let price: Swift.Optional<Decimal>
                    let counts: Dictionary<String, [Double]>
                    static let none = 0
                }
                """,
                becomes: """
                    final class Note: Codable {
                        let id: Foundation.UUID
                        let tags: Set<String>
                        let parts: Array<Part>
                        let best: Optional<Part>
                        let price: Swift.Optional<Decimal>
                        let counts: Dictionary<String, [Double]>
                        static let none = 0
                    }

                    extension Note: LocalData.StorageModel {
                        static var attributes: [LocalData.AttributeDescription] {
                            [
                                .init("id", .uuid),
                                .init("tags", .array(.string)),
                                .init("parts", of: Array<Part>.self),
                                .init("best", of: Optional<Part>.self),
                                .init("price", .decimal, isOptional: true),
                                .init("counts", .dictionary(.array(.double))),
                            ]
                        }
                    }
                    """)
            expect(
                """
                @StorageModel struct Log {
                    var at: Date = .now
                    var color: Color = .red
                    var name: String = "\\(x)"
                    var none: Int? = nil
                }
                """,
                becomes: """
                    struct Log {
                        var at: Date = .now
                        var color: Color = .red
                        var name: String = "\\(x)"
                        var none: Int? = nil
                    }

                    extension Log: LocalData.StorageModel {
                        static var attributes: [LocalData.AttributeDescription] {
                            [
                                .init("at", .date),
                                .init("color", of: Color.self),
                                .init("name", .string),
                                .init("none", .integer, isOptional: true),
                            ]
                        }
                    }
                    """)
            expect(
                "@StorageModel struct Empty {}",
                becomes: """
                    struct Empty {}

                    extension Empty: LocalData.StorageModel {
                        static var attributes: [LocalData.AttributeDescription] {
                            []
                        }
                    }
                    """)
        }

        @Test func `declarations that cannot be stored are refused with a remedy`() {
            for (kind, body) in [("enum", "case red"), ("actor", "var title: String")] {
                expectRefusal(
                    "@StorageModel \(kind) Note {\n\(body)\n}", becomes: "\(kind) Note {\n\(body)\n}",
                    saying: "@StorageModel applies to a struct or a class", line: 1, column: 1)
            }
            expectRefusal(
                "@StorageModel class Note {\nvar title: String\n}", becomes: "class Note {\nvar title: String\n}",
                saying:
                    "@StorageModel can only add an extension, which cannot make a class Codable: write 'class Note: Codable'",
                line: 1, column: 1)
            let refused: [(property: String, message: String, column: Int)] = [
                (
                    "var stars = 0",
                    "@StorageModel cannot see the inferred type: write the type of 'stars'", 4
                ),
                (
                    "let version: Int = 1",
                    "The constant 'version' has an initial value, so its stored value would never be read: make it a 'var', or mark it @Transient",
                    4
                ),
                ("var (a, b): (Int, Int)", "@StorageModel cannot read a pattern: declare each property by its name", 4),
            ]
            for (property, message, column) in refused {
                expectRefusal(
                    "@StorageModel struct Note {\n\(property)\n}", becomes: "struct Note {\n\(property)\n}", saying: message, line: 2,
                    column: column + 1)
            }
            expectRefusal(
                "@StorageModel struct Note {\n@Transient var cache: Cache\n}", becomes: "struct Note {\nvar cache: Cache\n}",
                saying: "'cache' is not stored, so it needs a default, or an optional type", line: 2, column: 16)
            expectRefusal(
                "@StorageModel struct Note {\n@Attribute(originalName: old) var title: String\n}",
                becomes: "struct Note {\nvar title: String\n}",
                saying: "The name of a stored property must be a string literal without interpolation", line: 2, column: 12)
            expectRefusal(
                "@StorageModel struct Note {\n@Attribute(name: \"t\") var title: String { \"\" }\n}",
                becomes: "struct Note {\nvar title: String { \"\" }\n}", saying: "'title' is not stored: it is static, lazy or computed",
                line: 2,
                column: 1)
            expectRefusal(
                "@StorageModel struct Note {\n@Attribute(name: \"t\") var title: String\nenum CodingKeys: CodingKey {\ncase title\n}\n}",
                becomes: "struct Note {\nvar title: String\nenum CodingKeys: CodingKey {\ncase title\n}\n}",
                saying:
                    "@Transient and @Attribute(name:) make @StorageModel write CodingKeys, but CodingKeys are declared already: use only one of them",
                line: 2,
                column: 12)
            expectRefusal(
                "@StorageModel struct Note {\n#if DEBUG\nvar title: String\n#endif\n}",
                becomes: "struct Note {\n#if DEBUG\nvar title: String\n#endif\n}",
                saying: "@StorageModel cannot determine which branch of an #if is compiled: declare stored properties outside of it",
                line: 2,
                column: 1)
            expectRefusal(
                "@Transient func draw() {}", becomes: "func draw() {}", saying: "@Transient applies to a stored property", line: 1,
                column: 1)
        }
    }
#endif
