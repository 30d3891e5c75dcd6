#if Macros
    import SwiftDiagnostics

    /// A problem of a declaration, and its remedy.
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
        case indexedIsNoLiteral
        case transientIndexed(String)
        case keysTwice
        case conditional

        var message: String {
            switch self {
            case .kind: "@StorageModel applies to a struct or a class"
            case .classWithoutCodable(let name):
                "@StorageModel can only add an extension, which cannot make a class Codable: write 'class \(name): Codable'"
            case .mark(let name): "@\(name) applies to a stored property"
            case .missingType(let name): "@StorageModel cannot see the inferred type: write the type of '\(name)'"
            case .constantWithValue(let name):
                "The constant '\(name)' has an initial value, so its stored value would never be read: make it a 'var', or mark it @Transient"
            case .transientWithoutValue(let name): "'\(name)' is not stored, so it needs a default, or an optional type"
            case .pattern: "@StorageModel cannot read a pattern: declare each property by its name"
            case .nameIsNoLiteral: "The name of a stored property must be a string literal without interpolation"
            case .markOnComputed(let name): "'\(name)' is not stored: it is static, lazy or computed"
            case .indexedIsNoLiteral: "The argument 'indexed' must be 'true' or 'false'"
            case .transientIndexed(let name): "'\(name)' is not stored, so no attribute can be derived from it"
            case .keysTwice:
                "@Transient and @Attribute(name:) make @StorageModel write CodingKeys, but CodingKeys are declared already: use only one of them"
            case .conditional: "@StorageModel cannot determine which branch of an #if is compiled: declare stored properties outside of it"
            }
        }

        var severity: DiagnosticSeverity { .error }

        var diagnosticID: MessageID {
            MessageID(domain: "LocalData", id: String("\(self)".prefix { $0 != "(" }))
        }
    }
#endif
