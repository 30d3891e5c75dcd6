import Foundation

/// The shared coders. Their configuration never changes after they are made, which makes sharing them safe.
enum Coders {
    static let jsonEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        // Equal values have equal bytes: comparisons and fingerprints rely on it.
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

    /// How `PropertyListEncoder` writes nil, and how a binary property list holds that text: the marker of an ASCII text of 5 bytes, and the text.
    private static let (null, nullText) = ("$null", Data([0x55] + Array("$null".utf8)))
    private static let textEncoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "", negativeInfinity: "", nan: "")
        return encoder
    }()

    /// Whether a text of a value, or a name in it, is `$null`.
    private static func holdsNullText(_ value: some Encodable) throws -> Bool {
        try textEncoder.encode([value]).range(of: Data("\"\(null)\"".utf8)) != nil
    }

    /// A property list needs a container at its root: a value is the only element of a list.
    /// - Throws: `EncodingError` for a value with the text `$null`, which `PropertyListDecoder` reads as nil.
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

    /// The value at the root of a property list, as other programs write it.
    static func value<Value: Decodable>(_ type: Value.Type, atRootOfPropertyList data: Data) throws -> Value {
        try plistDecoder.decode(type, from: data)
    }

    /// The value in a list that ``propertyList(of:)`` made. The paths of errors begin at the value.
    static func value<Value: Decodable>(_ type: Value.Type, inPropertyList data: Data) throws -> Value {
        do {
            guard let value = try plistDecoder.decode([Value].self, from: data).first else { throw CocoaError(.coderReadCorrupt) }
            return value
        } catch let error as DecodingError { throw error.beginningAtElement }
    }
}

extension DecodingError {
    /// The same error, its path without the list that a value was the only element of.
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
