import BackendContract
public import Foundation

/// A part of a stored document: what JSON and property lists can hold, without the type that wrote it.
///
/// Numbers keep their exact value: a decimal fraction with more digits than a `Double` holds stays a ``decimal(_:)``.
public enum DocumentValue: Hashable, Sendable {
    /// Nothing, said on purpose.
    case null
    /// A truth value.
    case boolean(Bool)
    /// A whole number.
    case integer(Int64)
    /// A whole number above the largest `Int64`.
    case unsigned(UInt64)
    /// A number that a `Double` holds.
    case real(Double)
    /// A number that a `Double` would round.
    case decimal(Decimal)
    /// A text.
    case string(String)
    /// Bytes; JSON has them as Base64 text.
    case data(Data)
    /// A point in time; JSON has it as seconds since 2001, as Foundation's encoder writes it.
    case date(Date)
    /// An ordered list.
    case array([DocumentValue])
    /// Values by name.
    case object([String: DocumentValue])
}

// MARK: Looking

extension DocumentValue {
    /// The text; nil for anything else.
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The truth value; nil for anything else.
    public var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
    /// The elements; nil for anything else.
    public var array: [DocumentValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// The properties; nil for anything else.
    public var object: [String: DocumentValue]? { if case .object(let properties) = self { properties } else { nil } }
    /// Whether it is null.
    public var isNull: Bool { self == .null }

    /// The whole number, whatever case holds it; nil when it is none, or does not fit.
    public var integer: Int? {
        switch self {
        case .integer(let number): Int(exactly: number)
        case .unsigned(let number): Int(exactly: number)
        case .real(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The number, whatever case holds it; nil for anything else.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .decimal(let number): NSDecimalNumber(decimal: number).doubleValue
        default: nil
        }
    }

    /// What kind of value it is, in words for messages: "is an integer".
    package var kindName: String {
        switch self {
        case .null: "null"
        case .boolean: "a boolean"
        case .integer, .unsigned: "an integer"
        case .real, .decimal: "a number"
        case .string: "a string"
        case .data: "data"
        case .date: "a date"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

// MARK: Writing as literals

extension DocumentValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// Null.
    public init(nilLiteral: ()) { self = .null }
    /// A list.
    public init(arrayLiteral elements: DocumentValue...) { self = .array(elements) }
    /// An object; of a name that occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, DocumentValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

// MARK: Coding

extension DocumentValue: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads any content.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let properties = try? decoder.container(keyedBy: Name.self) {
            var object: [String: DocumentValue] = [:]
            for name in properties.allKeys { object[name.stringValue] = try properties.decode(DocumentValue.self, forKey: name) }
            self = .object(object)
        } else if let flag = try? container.decode(Bool.self) {
            self = .boolean(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(UInt64.self) {
            self = .unsigned(number)
        } else if let number = try? container.decode(Double.self) {
            let exact = try? container.decode(Decimal.self)
            self = exact.map { $0 == Decimal(string: "\(number)") } == false ? .decimal(exact ?? 0) : .real(number)
        } else if var elements = try? decoder.unkeyedContainer() {
            var array: [DocumentValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(DocumentValue.self)) }
            self = .array(array)
        } else if let date = try? container.decode(Date.self) {
            self = .date(date)
        } else {
            self = .data(try container.decode(Data.self))
        }
    }

    /// Writes it in the terms of the encoder's format.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let properties):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in properties { try container.encode(value, forKey: Name(stringValue: name)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .boolean(let flag): try container.encode(flag)
            case .integer(let number): try container.encode(number)
            case .unsigned(let number): try container.encode(number)
            case .real(let number): try container.encode(number)
            case .decimal(let number): try container.encode(number)
            case .string(let text): try container.encode(text)
            case .data(let bytes): try container.encode(bytes)
            case .date(let date): try container.encode(date)
            case .null, .array, .object: try container.encodeNil()
            }
        }
    }

    /// What a store holds in its own terms.
    init(_ native: NativeValue) {
        switch native {
        case .string(let text): self = .string(text)
        case .integer(let number): self = .integer(number)
        case .unsigned(let number): self = Int64(exactly: number).map(DocumentValue.integer) ?? .unsigned(number)
        case .real(let number): self = .real(number)
        case .boolean(let flag): self = .boolean(flag)
        case .date(let seconds): self = .date(Date(timeIntervalSinceReferenceDate: seconds))
        case .data(let bytes): self = .data(Data(bytes))
        case .array(let elements): self = .array(elements.map(DocumentValue.init))
        case .dictionary(let entries): self = .object(entries.mapValues(DocumentValue.init))
        }
    }
}
