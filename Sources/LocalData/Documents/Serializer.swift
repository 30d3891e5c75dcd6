public import Foundation

/// Converts a value to the bytes that are stored, and back.
///
/// The default is ``json``. Choose ``data`` for bytes that have a format already, and ``custom(name:encode:decode:)``
/// for the format of another program. The name of the serializer is stored with each value.
///
/// ```swift
/// let person = StorageKey<Person>(name: "person", domain: .userDefaults, serializer: .plist)
/// do {
///     show(try await storage.get(person).name)
/// } catch StorageError.undecodable {
///     // The stored bytes are not a person. They are unchanged.
/// }
/// ```
public struct Serializer<Value: Codable & Sendable>: Sendable {
    /// The name of the serializer, which is stored with the bytes.
    public let name: String
    let encode: @Sendable (Value) throws -> Data
    let decode: @Sendable (Data) throws -> Value

    init(name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value) {
        (self.name, self.encode, self.decode) = (name, encode, decode)
    }

    /// A serializer for JSON with sorted keys.
    ///
    /// Some stores can show values to other programs, such as user defaults. There, a value that is one string, number,
    /// boolean, date or `Data` is stored as a native value, not as JSON.
    ///
    /// ```swift
    /// let width = StorageKey<Int>(name: "width", domain: .userDefaults, serializer: .json)  // a number in the property list
    /// ```
    public static var json: Serializer {
        Serializer(
            name: "json", encode: { try SimpleJSON.data(of: $0) ?? Coders.jsonEncoder.encode($0) },
            decode: { try Coders.value(Value.self, inJSON: Array($0)) })
    }

    /// A serializer for binary property lists.
    ///
    /// It cannot encode a value with the string `$null` or with a property of that name, because `PropertyListEncoder`
    /// writes nil as that string.
    ///
    /// ```swift
    /// let layout = StorageKey<[String: Double]>(name: "layout", domain: .encryptedSQLite(database: "editor"), serializer: .plist)
    /// ```
    public static var plist: Serializer {
        Serializer(
            name: "plist", encode: { try Coders.propertyList(of: $0) }, decode: { try Coders.value(Value.self, inPropertyList: $0) })
    }

    /// Creates a custom serializer.
    ///
    /// ```swift
    /// let lines = Serializer<[String]>.custom(
    ///     name: "lines", encode: { Data($0.joined(separator: "\n").utf8) },
    ///     decode: { data in
    ///         guard let text = String(data: data, encoding: .utf8) else { throw CocoaError(.coderReadCorrupt) }
    ///         return text.components(separatedBy: "\n")
    ///     })
    /// let words = StorageKey<[String]>(name: "words", domain: .userDefaults, serializer: lines)
    /// ```
    /// - Parameters:
    ///   - name: A stable name, which is stored with the bytes. The names `json`, `plist` and `data` are taken: they
    ///     get the prefix `custom:`.
    ///   - encode: Converts a value to bytes. Its errors become `StorageError.encodingFailed`.
    ///   - decode: Converts the bytes of `encode` to a value. Its errors become `StorageError.undecodable`, and the
    ///     stored bytes are not changed.
    public static func custom(
        name: String, encode: @escaping @Sendable (Value) throws -> Data, decode: @escaping @Sendable (Data) throws -> Value
    ) -> Serializer {
        // The built-in serializer reads all bytes that are stored under its name.
        Serializer(name: builtIn.contains(name) ? "custom:\(name)" : name, encode: encode, decode: decode)
    }

    private static var builtIn: [String] { ["json", "plist", "data"] }

    /// Whether the program defines the serializer. Such a serializer may take any amount of time.
    var isOwn: Bool { !Self.builtIn.contains(name) }
}

extension Serializer where Value == Data {
    /// A serializer that stores data without a change.
    ///
    /// ```swift
    /// let image = StorageKey<Data>(name: "avatar", domain: .encryptedSQLite(database: "editor"), serializer: .data)
    /// ```
    public static var data: Serializer { Serializer(name: "data", encode: { $0 }, decode: { $0 }) }
}
