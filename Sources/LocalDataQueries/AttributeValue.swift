public import Foundation
import LocalData

/// A type of property by which a query can find records without reading all of them.
///
/// Conform a type to it to declare a property of the type with `attribute(_:_:)`. The standard types for strings, whole
/// numbers, floating-point numbers, Booleans, UUIDs and dates conform, and optionals of them. An enumeration with raw values
/// only needs the conformance. Another type returns a text:
///
/// ```swift
/// enum Status: String, Codable, AttributeValue { case open, done }
///
/// struct Place: Codable, AttributeValue {
///     var row: Int
///     var column: Int
///     var attributeText: String? { "\(row),\(column)" }  // never change it: it is stored with the records
/// }
/// ```
///
/// Equal values must have equal texts, and different values different texts. The text of a value must never change,
/// because it is stored.
public protocol AttributeValue: Equatable, SendableMetatype {
    /// The canonical text. Nil if records with this value get no attribute; a query for the value then reads every record.
    var attributeText: String? { get }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    /// The text of the raw value.
    public var attributeText: String? { rawValue.attributeText }
}

extension Optional: AttributeValue where Wrapped: AttributeValue {
    /// The text of the wrapped value; nil for nil.
    public var attributeText: String? { flatMap(\.attributeText) }
}

extension String: AttributeValue {
    /// The string in the Unicode normalization form NFC, because Swift compares strings by canonical equivalence. Nil for a string with a
    /// character that Unicode has added after version 15.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension Bool: AttributeValue {
    /// `true` or `false`.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension Double: AttributeValue {
    /// The shortest text that has this value; nil for NaN.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension Float: AttributeValue {
    /// The shortest text that has this value; nil for NaN.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension UUID: AttributeValue {
    /// The UUID in upper case.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension Date: AttributeValue {
    /// The seconds since 2001-01-01T00:00:00Z.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension AttributeValue where Self: BinaryInteger {
    /// The number in decimal.
    public var attributeText: String? { AttributeText.text(of: self) }
}

extension Int: AttributeValue {}
extension Int8: AttributeValue {}
extension Int16: AttributeValue {}
extension Int32: AttributeValue {}
extension Int64: AttributeValue {}
extension UInt: AttributeValue {}
extension UInt8: AttributeValue {}
extension UInt16: AttributeValue {}
extension UInt32: AttributeValue {}
extension UInt64: AttributeValue {}
