public import Foundation

/// How a value becomes bytes, and back.
public struct Serializer<Value: Codable & Sendable>: Sendable {
    /// The name that is stored beside the bytes.
    public let name: String
    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value

    init(name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value) {
        self.name = name
        self.encode = encode
        self.decode = decode
    }

    /// JSON with sorted keys. Where the store can show values to people, a lone text, number, truth value, date or data is written in the store's own terms.
    public static var json: Serializer {
        Serializer(
            name: "json", encode: { try Coders.jsonEncoder.encode($0) }, decode: { try Coders.jsonDecoder.decode(Value.self, from: $0) })
    }

    /// A binary property list. A value with the text `$null`, or with a field of that name, cannot be encoded: `PropertyListEncoder` writes nil as that text.
    public static var plist: Serializer {
        Serializer(
            name: "plist", encode: { try Coders.propertyList(of: $0) }, decode: { try Coders.value(Value.self, inPropertyList: $0) })
    }

    /// A way of one's own.
    /// - Parameters:
    ///   - name: A stable name, stored beside the bytes; `custom:` is put before a name that is taken (`json`, `plist`, `data`).
    ///   - encode: Makes bytes; what it throws becomes `StorageError.encodingFailed`.
    ///   - decode: Reads what `encode` made; what it throws becomes `StorageError.undecodable`, and the bytes stay.
    public static func custom(
        name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
    ) -> Serializer {
        // A built-in serializer reads whatever carries its name.
        Serializer(name: builtIn.contains(name) ? "custom:\(name)" : name, encode: encode, decode: decode)
    }

    private static var builtIn: [String] { ["json", "plist", "data"] }

    /// Whether it is a way of the program's own, which may take any time.
    var isOwn: Bool { !Self.builtIn.contains(name) }
}

extension Serializer where Value == Data {
    /// The bytes as they are.
    public static var data: Serializer { Serializer(name: "data", encode: { $0 }, decode: { $0 }) }
}
