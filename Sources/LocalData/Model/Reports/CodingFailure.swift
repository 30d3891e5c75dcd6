public import Foundation

/// Says where and why a value could not be encoded or decoded, without any of its content.
///
/// It is the ``StorageError/underlying`` error of `undecodable` and `encodingFailed`. The errors of coders quote the
/// content that they could not read, so they must not reach a log. This error keeps only the kind of failure and the
/// path in the document, without the keys of dictionaries.
///
/// ```swift
/// do {
///     show(try await storage.get(key).name)
/// } catch let error as StorageError where error.code == .undecodable {
///     if let failure = error.underlying as? CodingFailure { print(failure.path, failure.kind) }  // .name is not of type String
/// }
/// ```
public struct CodingFailure: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure, or the name of the error's type.
    public let kind: String
    /// The path to the part that failed: names of declared properties, and positions in lists; empty for the root.
    public let path: String

    /// Keeps the kind and the path of a coder's error.
    package init(_ error: any Error) {
        switch error {
        case DecodingError.typeMismatch(let type, let context): (kind, path) = ("is not \(Self.text(type))", Self.text(context.codingPath))
        case DecodingError.valueNotFound(let type, let context):
            (kind, path) = ("is missing, where the type has \(Self.text(type))", Self.text(context.codingPath))
        case DecodingError.keyNotFound(let key, let context):
            (kind, path) = ("lacks the property\(Self.text([key]))", Self.text(context.codingPath))
        case DecodingError.dataCorrupted(let context): (kind, path) = ("is not valid", Self.text(context.codingPath))
        case EncodingError.invalidValue(let value, let context):
            (kind, path) = (Self.isFinite(value) ? "cannot be encoded" : "is not a finite number", Self.text(context.codingPath))
        default: (kind, path) = ("caused the error \(String(describing: type(of: error)))", "")
        }
    }

    /// Returns the type in words. Errors of coders name the type `[String: Any]` for an object and `[Any]` for a list.
    private static func text(_ type: any Any.Type) -> String {
        switch type {
        case is [String: Any].Type: "an object"
        case is [Any].Type: "a list"
        default: "of type \(type)"
        }
    }

    /// Returns true, except for floating-point numbers that JSON cannot represent, such as infinity.
    private static func isFinite(_ value: Any) -> Bool { (value as? any BinaryFloatingPoint)?.isFinite ?? true }

    /// Returns a path with positions and the names of declared properties.
    ///
    /// The keys of a dictionary are part of the value, so they are left out. The standard library and Foundation have
    /// special key types for them, whose names begin with an underscore.
    private static func text(_ path: [any CodingKey]) -> String {
        path.map { key in
            if let position = key.intValue { return "[\(position)]" }
            let isDeclared = Mirror(reflecting: key).displayStyle == .enum && !String(describing: type(of: key)).hasPrefix("_")
            return isDeclared ? ".\(key.stringValue)" : "[…]"
        }.joined()
    }

    /// The failure in one sentence, without any of the content.
    public var errorDescription: String? { description }

    /// The failure in one sentence, without any of the content.
    public var description: String { path.isEmpty ? "the value \(kind)" : "the value at \(path) \(kind)" }
}
