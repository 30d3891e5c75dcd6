internal import Foundation

/// Reads a property that older programs stored as JSON inside a string, and stores it as a plain value.
///
/// Use it if an earlier version of the program encoded a property itself, and stored the text. Reading accepts the
/// string and the plain value. Writing stores the plain value.
///
/// ```swift
/// struct Person: Codable {
///     @Migratable var address: Address  // {"street":…} or, from older programs, "{\"street\":…}"
///     @Migratable var birthplace: Address?
/// }
/// let old = Data(#"{"address": "{\"street\":\"Sporgasse\",\"city\":\"Graz\"}"}"#.utf8)
/// print(try JSONDecoder().decode(Person.self, from: old).address.city)
/// ```
@propertyWrapper
public struct Migratable<Value: Codable & Sendable>: Codable, Sendable {
    /// The wrapped value.
    public var wrappedValue: Value

    /// Wraps a value.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    /// Decodes the value directly, or from the JSON document inside a string. A type that can decode the string itself
    /// gets the string.
    public init(from decoder: any Decoder) throws {
        do { wrappedValue = try Value(from: decoder) } catch {
            guard let text = try? decoder.singleValueContainer().decode(String.self) else { throw error }
            wrappedValue = try Coders.jsonDecoder.decode(Value.self, from: Data(text.utf8))
        }
    }

    /// Encodes the value as if it had no wrapper.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Migratable: Equatable where Value: Equatable {}
extension Migratable: Hashable where Value: Hashable {}

extension KeyedDecodingContainer {
    /// Decodes a missing property as nil, as if it had no wrapper.
    public func decode<Wrapped: Codable & Sendable>(_ type: Migratable<Wrapped?>.Type, forKey key: Key) throws -> Migratable<Wrapped?> {
        try decodeIfPresent(type, forKey: key) ?? Migratable(wrappedValue: nil)
    }
}

extension KeyedEncodingContainer {
    /// Leaves out a property that is nil, as if it had no wrapper.
    public mutating func encode<Wrapped: Codable & Sendable>(_ value: Migratable<Wrapped?>, forKey key: Key) throws {
        if let wrapped = value.wrappedValue { try encode(wrapped, forKey: key) }
    }
}
