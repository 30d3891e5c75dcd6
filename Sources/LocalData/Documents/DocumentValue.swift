package import BackendContract
public import Foundation

/// A value in a stored document: any content of JSON or of a property list, without the type that wrote it.
///
/// Write it as a Swift literal. Read it with properties such as ``integer``, which are nil for a value of another kind.
///
/// ```swift
/// let value: DocumentValue = ["title": "Milk", "stars": 3, "tags": ["food", nil]]
/// if case .object(let properties) = value { print(properties.keys.sorted()) }
/// print(value.object?["stars"]?.integer ?? 0)  // 3
/// print(value.object?["title"]?.integer ?? 0)  // 0: a property for another kind of value is nil
/// ```
///
/// Numbers keep their exact value. A decimal fraction with more digits than a `Double` can hold is a ``decimal(_:)``.
public enum DocumentValue: Hashable, Sendable {
    /// An explicit null.
    case null
    /// A boolean.
    case boolean(Bool)
    /// An integer.
    case integer(Int64)
    /// An integer above the largest `Int64`.
    case unsigned(UInt64)
    /// A number that a `Double` can hold.
    case real(Double)
    /// A number that a `Double` would round.
    case decimal(Decimal)
    /// A string.
    case string(String)
    /// Bytes. In JSON they are a Base64 string.
    case data(Data)
    /// A date. In JSON it is the seconds since 2001-01-01 UTC, as Foundation's encoder writes it.
    case date(Date)
    /// An ordered list.
    case array([DocumentValue])
    /// The properties of an object, by name.
    case object([String: DocumentValue])
}

// MARK: Looking

extension DocumentValue {
    /// The string; nil for any other value.
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The boolean; nil for any other value.
    public var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
    /// The elements of the list; nil for any other value.
    public var array: [DocumentValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// The properties of the object; nil for any other value.
    public var object: [String: DocumentValue]? { if case .object(let properties) = self { properties } else { nil } }
    /// Whether the value is null.
    public var isNull: Bool { self == .null }

    /// The value as an integer; nil for a ``decimal(_:)``, for a value that is no integer, and for an integer that does
    /// not fit.
    public var integer: Int? {
        switch self {
        case .integer(let number): Int(exactly: number)
        case .unsigned(let number): Int(exactly: number)
        case .real(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The value as a number; nil if it is not a number.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .decimal(let number): NSDecimalNumber(decimal: number).doubleValue
        default: nil
        }
    }

    /// The kind of the value in words, for messages: "an integer".
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
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .real(value) }
    /// Creates null.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a list.
    public init(arrayLiteral elements: DocumentValue...) { self = .array(elements) }
    /// Creates an object. If a name occurs twice, the last value is used.
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

    /// Decodes any content.
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

    /// Encodes the value in the format of the encoder.
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

    /// Creates the value from a native value: a string, number, date or similar value that a store holds without
    /// encoding it.
    package init(_ native: NativeValue) {
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
