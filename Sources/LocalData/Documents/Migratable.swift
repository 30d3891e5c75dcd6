internal import Foundation

/// A property whose value older programs stored as JSON within a text: reads both, and writes the value itself.
///
/// ```swift
/// struct Person: Codable {
///     @Migratable var address: Address
///     @Migratable var birthplace: Place?
/// }
/// ```
@propertyWrapper
public struct Migratable<Value: Codable & Sendable>: Codable, Sendable {
    /// The value.
    public var wrappedValue: Value

    /// Wraps a value.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    /// Reads the value, or the JSON document of it within a text. A value that is a text itself is read as that text if it can be.
    public init(from decoder: any Decoder) throws {
        do { wrappedValue = try Value(from: decoder) } catch {
            guard let text = try? decoder.singleValueContainer().decode(String.self) else { throw error }
            wrappedValue = try Coders.jsonDecoder.decode(Value.self, from: Data(text.utf8))
        }
    }

    /// Writes the value as if it were not wrapped.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Migratable: Equatable where Value: Equatable {}
extension Migratable: Hashable where Value: Hashable {}

extension KeyedDecodingContainer {
    /// A missing property is nil, as it would be without the wrapper.
    public func decode<Wrapped: Codable & Sendable>(
        _ type: Migratable<Wrapped?>.Type, forKey key: Key
    ) throws -> Migratable<Wrapped?> {
        try decodeIfPresent(type, forKey: key) ?? Migratable(wrappedValue: nil)
    }
}

extension KeyedEncodingContainer {
    /// A property that is nil is left out, as it would be without the wrapper.
    public mutating func encode<Wrapped: Codable & Sendable>(_ value: Migratable<Wrapped?>, forKey key: Key) throws {
        if let wrapped = value.wrappedValue { try encode(wrapped, forKey: key) }
    }
}
