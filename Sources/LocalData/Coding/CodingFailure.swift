/// Why a value could not be encoded or decoded, without any of its content.
///
/// The coders' own errors quote what they could not read; here only the kind of failure and the place in the document remain.
public struct CodingFailure: Error, Sendable, CustomStringConvertible {
    /// What happened: the kind of failure, or the name of the error's type.
    public let kind: String
    /// The path of property names and positions to the place; empty for the root.
    public let path: String

    init(_ error: any Error) {
        switch error {
        case DecodingError.typeMismatch(let type, let context): (kind, path) = ("is not a \(type)", Self.text(context.codingPath))
        case DecodingError.valueNotFound(let type, let context): (kind, path) = ("lacks a \(type)", Self.text(context.codingPath))
        case DecodingError.keyNotFound(let key, let context):
            (kind, path) = ("lacks the property \(key.stringValue)", Self.text(context.codingPath))
        case DecodingError.dataCorrupted(let context): (kind, path) = ("is not what it should be", Self.text(context.codingPath))
        case EncodingError.invalidValue(_, let context): (kind, path) = ("cannot be encoded", Self.text(context.codingPath))
        default: (kind, path) = ("failed with \(String(describing: type(of: error)))", "")
        }
    }

    private static func text(_ path: [any CodingKey]) -> String {
        path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    }

    /// One sentence, without any of the content.
    public var description: String { path.isEmpty ? "the value \(kind)" : "the value at \(path) \(kind)" }
}
