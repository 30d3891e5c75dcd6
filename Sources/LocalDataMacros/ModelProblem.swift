#if Macros
    import SwiftDiagnostics

    /// What is wrong with a declaration, and what to do about it.
    enum ModelProblem: DiagnosticMessage {
        case kind
        case classWithoutCodable(String)
        case mark(String)
        case missingType(String)
        case constantWithValue(String)
        case transientWithoutValue(String)
        case pattern
        case nameIsNoLiteral
        case markOnComputed(String)
        case keysTwice
        case conditional

        var message: String {
            switch self {
            case .kind: "@StorageModel describes what a struct or a class stores"
            case .classWithoutCodable(let name):
                "A class cannot become Codable in an extension, which is all that @StorageModel may add: write 'class \(name): Codable'"
            case .mark(let name): "@\(name) marks a stored property"
            case .missingType(let name): "@StorageModel sees the declaration, not what the compiler infers: write the type of '\(name)'"
            case .constantWithValue(let name):
                "The constant '\(name)' has its value already, so what is stored would never be read: make it a 'var', or mark it @Transient"
            case .transientWithoutValue(let name): "'\(name)' is not stored, so it needs a default, or an optional type"
            case .pattern: "@StorageModel stores single properties: declare each by its name"
            case .nameIsNoLiteral: "Names of stored properties are string literals without interpolation"
            case .markOnComputed(let name): "'\(name)' is not stored: it is static, lazy or computed"
            case .keysTwice:
                "@StorageModel would write CodingKeys for @Transient and @Attribute(name:), and there are some: say it in one place"
            case .conditional: "@StorageModel does not see which part of an #if is compiled: declare stored properties outside of it"
            }
        }

        var severity: DiagnosticSeverity { .error }

        var diagnosticID: MessageID {
            MessageID(domain: "LocalData", id: String("\(self)".prefix { $0 != "(" }))
        }
    }
#endif
