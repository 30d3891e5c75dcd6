import Foundation

/// The canonical texts of values. Derived attributes store them, and queries compare them.
///
/// Two values of one type that are equal have the same text. Two values that differ have different texts.
package enum AttributeText {
    /// Returns the text of a value.
    ///
    /// Strings, whole numbers, floating-point numbers, Booleans, UUIDs and dates have a text. A `RawRepresentable` value
    /// has the text of its raw value, and an optional that of the value in it.
    /// - Returns: The text; nil for nil, for NaN, for a string with characters that Unicode has added after version 15, and for a value of
    ///   another type.
    package static func text(of value: Any) -> String? {
        switch value {
        case let text as String: canonical(text)
        case let flag as Bool: flag ? "true" : "false"
        case let number as any BinaryInteger: "\(number)"
        case let number as Double: text(number)
        case let number as Float: text(number)
        case let id as UUID: id.uuidString
        case let date as Date: text(date.timeIntervalSinceReferenceDate)
        case let optional as any PossibleValue: optional.present.flatMap(text(of:))
        case let represented as any RawRepresentable: text(of: represented.rawValue)
        default: nil
        }
    }

    /// Returns a string in the Unicode normalization form NFC. Swift compares strings by canonical equivalence, and a
    /// label compares bytes. Nil for a string with a character that Foundation may not know: its normalization would not be that of Swift.
    private static func canonical(_ text: String) -> String? {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        let isKnown = text.unicodeScalars.allSatisfy { scalar in scalar.properties.age.map { $0.major <= knownUnicode } ?? false }
        return isKnown ? text.precomposedStringWithCanonicalMapping : nil
    }

    /// The version of Unicode that Foundation and the standard library both know.
    private static let knownUnicode = 15

    /// Returns the shortest text that a number can be read back from. Zero and negative zero are equal, so they have one
    /// text. NaN equals nothing, so it has none.
    private static func text<Number: BinaryFloatingPoint>(_ number: Number) -> String? {
        if number.isNaN { return nil }
        return number.isZero ? "0.0" : "\(number)"
    }
}

/// An optional whose wrapped type is not known.
private protocol PossibleValue {
    var present: Any? { get }
}

extension Optional: PossibleValue {
    fileprivate var present: Any? { self }
}
