import BackendContract
import Foundation

/// The bridge between serialized bytes and a store's own values.
enum NativeCoding {
    /// The native form of a value whose JSON document is a scalar: a date stays a date and data data, so that the program that wrote it before still reads it.
    static func native<Value>(_ value: Value, json: [UInt8]) -> NativeValue? {
        if let date = value as? Date { return .date(date.timeIntervalSinceReferenceDate) }
        if let data = value as? Data { return .data([UInt8](data)) }
        return scalar(ofJSON: json)
    }

    /// The native form of a JSON document that is a lone text, truth value or number, if it has exactly the same value; else nil.
    static func scalar(ofJSON bytes: [UInt8]) -> NativeValue? {
        guard let first = bytes.first else { return nil }
        switch first {
        case UInt8(ascii: "\""):
            return (try? Coders.jsonDecoder.decode(String.self, from: Data(bytes))).map(NativeValue.string)
        case UInt8(ascii: "t") where bytes.elementsEqual("true".utf8): return .boolean(true)
        case UInt8(ascii: "f") where bytes.elementsEqual("false".utf8): return .boolean(false)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let text = String(decoding: bytes, as: UTF8.self)
            // Exactly: "-0" is not 0, and what a serializer of one's own writes as "007" stays so.
            if let number = Int64(text), String(number) == text { return .integer(number) }
            if let number = UInt64(text), String(number) == text { return .unsigned(number) }
            // Only numbers that a Double holds exactly: a Decimal with more digits stays JSON.
            if let number = Double(text), (try? Coders.jsonEncoder.encode(number)) == Data(bytes) { return .real(number) }
            return nil
        default: return nil
        }
    }

    /// The JSON document of a lone native text, truth value or number; nil for the others.
    static func json(of value: NativeValue) -> Data? {
        switch value {
        case .string(let text): try? Coders.jsonEncoder.encode(text)
        case .boolean(let flag): Data((flag ? "true" : "false").utf8)
        case .integer(let number): Data(String(number).utf8)
        case .unsigned(let number): Data(String(number).utf8)
        case .real(let number): try? Coders.jsonEncoder.encode(number)
        case .date(let seconds): try? Coders.jsonEncoder.encode(Date(timeIntervalSinceReferenceDate: seconds))
        case .data, .array, .dictionary: nil
        }
    }

    /// A native value as the type asks for it, without a coder; nil where a coder is needed.
    static func direct<Value>(_ value: NativeValue, as type: Value.Type) -> Value? {
        switch value {
        case .string(let text): text as? Value
        case .boolean(let flag): flag as? Value
        case .integer(let number) where type == Int.self: Int(exactly: number) as? Value
        case .real(let number) where type == Double.self: number as? Value
        case .data(let bytes) where type == Data.self: Data(bytes) as? Value
        case .date(let seconds) where type == Date.self: Date(timeIntervalSinceReferenceDate: seconds) as? Value
        default: nil
        }
    }

    /// Decodes a value that another program stored natively, the way `UserDefaults` would: a text is a text, a date a date.
    static func decodeForeign<Value: Decodable>(_ value: NativeValue, as type: Value.Type) throws -> Value {
        if let value = direct(value, as: type) { return value }
        if case .string(let text) = value, type == URL.self, let value = url(text) as? Value { return value }
        let list = try PropertyListSerialization.data(fromPropertyList: [object(of: value)], format: .binary, options: 0)
        return try Coders.value(type, inPropertyList: list)
    }

    /// The URL that another program kept as text: one with a scheme as it is, everything else the path of a file, as `url(forKey:)` of
    /// `UserDefaults` reads it.
    private static func url(_ text: String) -> URL? {
        if let url = URL(string: text), url.scheme != nil { return url }
        return text.isEmpty ? nil : URL(fileURLWithPath: NSString(string: text).expandingTildeInPath)
    }

    /// A value that another program kept as a property list of its own, as `PropertyListEncoder` writes it: with the value at the root.
    static func decodeForeign<Value: Decodable>(propertyList bytes: [UInt8], as type: Value.Type) throws -> Value {
        try Coders.value(type, atRootOfPropertyList: Data(bytes))
    }

    private static func object(of value: NativeValue) -> Any {
        switch value {
        case .string(let text): text
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .data(let bytes): Data(bytes)
        case .array(let elements): elements.map(object(of:))
        case .dictionary(let entries): entries.mapValues(object(of:))
        }
    }
}
