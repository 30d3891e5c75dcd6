/// Why a value could not be encoded or decoded, without any of its content.
///
/// The coders' own errors quote what they could not read; here only the kind of failure and the place in the document remain, without the keys of
/// dictionaries.
public struct CodingFailure: Error, Sendable, CustomStringConvertible {
    /// What happened: the kind of failure, or the name of the error's type.
    public let kind: String
    /// The path of declared property names and positions to the place; empty for the root.
    public let path: String

    init(_ error: any Error) {
        switch error {
        case DecodingError.typeMismatch(let type, let context): (kind, path) = ("is not a \(type)", Self.text(context.codingPath))
        case DecodingError.valueNotFound(let type, let context): (kind, path) = ("lacks a \(type)", Self.text(context.codingPath))
        case DecodingError.keyNotFound(let key, let context):
            (kind, path) = ("lacks the property\(Self.text([key]))", Self.text(context.codingPath))
        case DecodingError.dataCorrupted(let context): (kind, path) = ("is not what it should be", Self.text(context.codingPath))
        case EncodingError.invalidValue(_, let context): (kind, path) = ("cannot be encoded", Self.text(context.codingPath))
        default: (kind, path) = ("failed with \(String(describing: type(of: error)))", "")
        }
    }

    /// Positions, and the names of declared properties. The keys of a dictionary are part of the value: the standard library and Foundation have
    /// types of their own for them, whose names begin with an underscore.
    private static func text(_ path: [any CodingKey]) -> String {
        path.map { key in
            if let position = key.intValue { return "[\(position)]" }
            let isDeclared = Mirror(reflecting: key).displayStyle == .enum && !String(describing: type(of: key)).hasPrefix("_")
            return isDeclared ? ".\(key.stringValue)" : "[…]"
        }.joined()
    }

    /// One sentence, without any of the content.
    public var description: String { path.isEmpty ? "the value \(kind)" : "the value at \(path) \(kind)" }
}
