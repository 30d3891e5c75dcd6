import Foundation

/// The type of a property in the description of a stored shape, such as a string or a list of integers.
///
/// ```swift
/// let phones = AttributeType.array(.compound("Phone", [AttributeDescription("number", .string)]))
/// print(phones)  // array of Phone
/// ```
public indirect enum AttributeType: Hashable, Sendable, Codable {
    /// A string.
    case string
    /// A boolean.
    case boolean
    /// An integer.
    case integer
    /// A floating-point number.
    case double
    /// A decimal number.
    case decimal
    /// A date.
    case date
    /// Bytes.
    case data
    /// A UUID, stored as a string.
    case uuid
    /// A list of elements of one type.
    case array(AttributeType)
    /// A dictionary with string keys, and values of one type.
    case dictionary(AttributeType)
    /// A struct or class with properties, stored inside the value. The string is the name of its type.
    case compound(String, [AttributeDescription])
    /// The id of a record in another collection. The string is the name of the record's type.
    case reference(String)
    /// A type that is not described further. The string is its name.
    case named(String)
}

extension AttributeType: CustomStringConvertible {
    /// The type as text.
    public var description: String {
        switch self {
        case .string: "string"
        case .boolean: "boolean"
        case .integer: "integer"
        case .double: "double"
        case .decimal: "decimal"
        case .date: "date"
        case .data: "data"
        case .uuid: "uuid"
        case .array(let element): "array of \(element)"
        case .dictionary(let value): "dictionary of \(value)"
        case .compound(let name, _): name
        case .reference(let name): "reference to \(name)"
        case .named(let name): name
        }
    }

    /// Returns whether a migration plan may convert values of another type to this type. Single values may still fail
    /// to convert. Such a failure is found only when the value is read.
    ///
    /// ```swift
    /// print(AttributeType.integer.canConvert(from: .string))  // true: "3" becomes 3, but a read of "x" fails
    /// print(AttributeType.integer.canConvert(from: .array(.string)))  // false
    /// ```
    public func canConvert(from other: AttributeType) -> Bool {
        switch (other, self) {
        case _ where other == self: true
        case (.named, _), (_, .named): true
        case (_, .string): other.isScalar
        case (.string, _): isScalar
        case (.integer, .double), (.integer, .decimal), (.double, .decimal), (.decimal, .double), (.double, .integer), (.decimal, .integer):
            true
        case (.boolean, .integer), (.integer, .boolean): true
        case (.date, .double), (.double, .date), (.integer, .date): true
        case (.array(let from), .array(let to)), (.dictionary(let from), .dictionary(let to)): to.canConvert(from: from)
        case (.uuid, .reference), (.reference, .uuid), (.reference, .reference): true
        case (_, .array(let element)): element.canConvert(from: other)
        default: false
        }
    }

    private var isScalar: Bool {
        switch self {
        case .array, .dictionary, .compound: false
        default: true
        }
    }

    /// Returns a value converted to this type; nil if that is not possible.
    package func converted(_ value: DocumentValue) -> DocumentValue? {
        switch self {
        case .string, .reference: Self.text(value)
        case .boolean:
            switch value {
            case .boolean: value
            case .integer(0): false
            case .integer(1): true
            case .string(let text): ["true": true, "false": false, "yes": true, "no": false, "1": true, "0": false][text.lowercased()]
            default: nil
            }
        case .integer:
            switch value {
            case .integer, .unsigned: value
            case .boolean(let flag): .integer(flag ? 1 : 0)
            case .real(let number): Int64(exactly: number).map(DocumentValue.integer)
            case .decimal(let number): Int64("\(number)").map(DocumentValue.integer)
            case .string(let text): Int64(text).map(DocumentValue.integer)
            default: nil
            }
        case .double:
            switch value {
            case .string(let text): Double(text).flatMap { $0.isFinite ? .real($0) : nil }
            case .date(let date): .real(date.timeIntervalSinceReferenceDate)
            default: value.double.map(DocumentValue.real)
            }
        case .decimal:
            switch value {
            case .integer, .unsigned, .real, .decimal: value
            case .string(let text): Decimal(string: text).map(DocumentValue.decimal)
            default: nil
            }
        case .date:
            switch value {
            case .date: value
            case .integer, .unsigned, .real: value.double.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
            case .string(let text): (try? Date(text, strategy: .iso8601)).map(DocumentValue.date)
            default: nil
            }
        case .data:
            switch value {
            case .data: value
            case .string(let text): Data(base64Encoded: text).map(DocumentValue.data)
            default: nil
            }
        case .uuid: value.string.flatMap(UUID.init(uuidString:)).map { .string($0.uuidString) }
        case .array(let element):
            if let elements = value.array {
                Self.all(elements.map(element.converted)).map(DocumentValue.array)
            } else {
                element.converted(value).map { .array([$0]) }
            }
        case .dictionary(let type):
            value.object.flatMap { object in
                let converted = object.compactMapValues(type.converted)
                return converted.count == object.count ? .object(converted) : nil
            }
        case .compound: value.object == nil ? nil : value
        case .named: value
        }
    }

    private static func text(_ value: DocumentValue) -> DocumentValue? {
        switch value {
        case .string: value
        case .boolean(let flag): .string(flag ? "true" : "false")
        case .integer(let number): .string(String(number))
        case .unsigned(let number): .string(String(number))
        case .real(let number): .string("\(number)")
        case .decimal(let number): .string("\(number)")
        case .date(let date): .string(date.formatted(.iso8601))
        case .data(let bytes): .string(bytes.base64EncodedString())
        case .null, .array, .object: nil
        }
    }

    private static func all<Element>(_ elements: [Element?]) -> [Element]? {
        elements.contains { $0 == nil } ? nil : elements.compactMap(\.self)
    }
}
