import Foundation
import JSONReading

/// The shared coders. They are never changed after their creation, which makes it safe to share them.
enum Coders {
    static let jsonEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        // Equal values must have equal bytes, because comparisons and fingerprints use the bytes.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
    static let jsonDecoder = JSONDecoder()
    private static let plistEncoder: PropertyListEncoder = {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return encoder
    }()
    private static let plistDecoder = PropertyListDecoder()

    /// The string that `PropertyListEncoder` writes for nil, and its bytes in a binary property list: the marker of a
    /// 5-byte ASCII string, then the string.
    private static let (null, nullText) = ("$null", Data([0x55] + Array("$null".utf8)))
    private static let textEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "", negativeInfinity: "", nan: "")
        return encoder
    }()

    /// Returns whether a string or property name in a value is `$null`.
    private static func holdsNullText(_ value: some Encodable) throws -> Bool {
        try textEncoder.encode([value]).range(of: Data("\"\(null)\"".utf8)) != nil
    }

    /// Encodes a value as a property list. The root of a property list must be a container, so the value is the only
    /// element of a list.
    /// - Throws: `EncodingError` if the value contains the string `$null`, which `PropertyListDecoder` would read as
    ///   nil.
    static func propertyList<Value: Encodable>(of value: Value) throws -> Data {
        do {
            let data = try plistEncoder.encode([value])
            if data.range(of: nullText) != nil, try holdsNullText(value) {
                throw EncodingError.invalidValue(
                    value,
                    EncodingError.Context(codingPath: [], debugDescription: "A property list cannot hold the text \(null). Use .json."))
            }
            return data
        } catch EncodingError.invalidValue(let part, let context) {
            throw EncodingError.invalidValue(
                part, EncodingError.Context(codingPath: Array(context.codingPath.dropFirst()), debugDescription: context.debugDescription))
        }
    }

    /// Decodes the value of a JSON document.
    static func value<Value: Decodable>(_ type: Value.Type, inJSON bytes: [UInt8]) throws -> Value {
        if type == String.self { return try text(inJSON: bytes) }
        do { return try JSONReader.value(type, in: bytes) } catch { return try jsonDecoder.decode(type, from: Data(bytes)) }
    }

    /// Decodes a text. The function is separate, because code that names an optional value looks up the metadata of that type in each call.
    @inline(never) private static func text<Value: Decodable>(inJSON bytes: [UInt8]) throws -> Value {
        if let text = SimpleJSON.text(in: bytes) as? Value { return text }
        return try jsonDecoder.decode(Value.self, from: Data(bytes))
    }

    /// Decodes the value at the root of a property list, as other programs write it.
    static func value<Value: Decodable>(_ type: Value.Type, atRootOfPropertyList data: Data) throws -> Value {
        try plistDecoder.decode(type, from: data)
    }

    /// Decodes the value in a list that ``propertyList(of:)`` encoded. The coding paths of errors begin at the value.
    static func value<Value: Decodable>(_ type: Value.Type, inPropertyList data: Data) throws -> Value {
        do {
            guard let value = try plistDecoder.decode([Value].self, from: data).first else { throw CocoaError(.coderReadCorrupt) }
            return value
        } catch let error as DecodingError { throw error.beginningAtElement }
    }
}

extension DecodingError {
    /// The error with a coding path that begins at the value, without the list around it.
    fileprivate var beginningAtElement: DecodingError {
        func context(_ context: Context) -> Context {
            Context(codingPath: Array(context.codingPath.dropFirst()), debugDescription: context.debugDescription)
        }
        return switch self {
        case .typeMismatch(let type, let place): .typeMismatch(type, context(place))
        case .valueNotFound(let type, let place): .valueNotFound(type, context(place))
        case .keyNotFound(let key, let place): .keyNotFound(key, context(place))
        case .dataCorrupted(let place): .dataCorrupted(context(place))
        @unknown default: self
        }
    }
}
