import BackendContract
import Foundation

/// Converts between serialized bytes and native values, the values that a store can show to other programs.
enum NativeCoding {
    /// Returns the native form of a value; nil if it has none. A `Date` or `Data` keeps its type, so that an older
    /// program can still read it. Any other value has a native form only if its JSON document is a string, boolean or
    /// number.
    static func native<Value>(_ value: Value, json: [UInt8]) -> NativeValue? {
        if let date = value as? Date { return .date(date.timeIntervalSinceReferenceDate) }
        if let data = value as? Data { return .data([UInt8](data)) }
        return scalar(ofJSON: json)
    }

    /// Returns the native form of a JSON document that is a string, boolean or number. Returns nil if the native form
    /// would not be exactly the same value.
    static func scalar(ofJSON bytes: [UInt8]) -> NativeValue? {
        guard let first = bytes.first else { return nil }
        switch first {
        case UInt8(ascii: "\""):
            return (try? Serializer<String>.json.decode(Data(bytes))).map(NativeValue.string)
        case UInt8(ascii: "t") where bytes.elementsEqual("true".utf8): return .boolean(true)
        case UInt8(ascii: "f") where bytes.elementsEqual("false".utf8): return .boolean(false)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let text = String(decoding: bytes, as: UTF8.self)
            // Compare the text: "-0" is not 0, and a custom serializer's "007" must stay "007".
            if let number = Int64(text), String(number) == text { return .integer(number) }
            if let number = UInt64(text), String(number) == text { return .unsigned(number) }
            // Accept only numbers that a Double represents exactly. A Decimal with more digits stays JSON.
            if let number = Double(text), (try? Coders.jsonEncoder.encode(number)) == Data(bytes) { return .real(number) }
            return nil
        default: return nil
        }
    }

    /// Returns the JSON document of a native string, boolean, number or date; nil for other values.
    static func json(of value: NativeValue) -> Data? {
        switch value {
        case .string(let text): try? Serializer<String>.json.encode(text)
        case .boolean(let flag): Data((flag ? "true" : "false").utf8)
        case .integer(let number): Data(String(number).utf8)
        case .unsigned(let number): Data(String(number).utf8)
        case .real(let number): try? Coders.jsonEncoder.encode(number)
        case .date(let seconds): try? Coders.jsonEncoder.encode(Date(timeIntervalSinceReferenceDate: seconds))
        case .data, .array, .dictionary: nil
        }
    }

    /// Returns a native value as the requested type, if no decoder is needed; otherwise nil.
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

    /// Decodes a native value that another program wrote, for example with `UserDefaults`. The value is decoded as part
    /// of a property list, not as JSON.
    static func decodeForeign<Value: Decodable>(_ value: NativeValue, as type: Value.Type) throws -> Value {
        if let value = direct(value, as: type) { return value }
        if case .string(let text) = value, type == URL.self, let value = url(text) as? Value { return value }
        let list = try PropertyListSerialization.data(fromPropertyList: [object(of: value)], format: .binary, options: 0)
        return try Coders.value(type, inPropertyList: list)
    }

    /// Returns the URL in a text that another program stored. Text with a scheme is the URL itself. Other text is the
    /// path of a file, as in `UserDefaults.url(forKey:)`.
    private static func url(_ text: String) -> URL? {
        if let url = URL(string: text), url.scheme != nil { return url }
        return text.isEmpty ? nil : URL(fileURLWithPath: NSString(string: text).expandingTildeInPath)
    }

    /// Decodes a value that another program stored as the bytes of a property list. The value is at the root, as
    /// `PropertyListEncoder` writes it.
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
