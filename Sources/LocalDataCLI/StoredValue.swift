import ArgumentParser
import Foundation

/// Whatever a value may be, for showing and for passing on: everything that JSON and property lists know.
enum StoredValue: Codable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case text(String)
    case date(Date)
    case data(Data)
    case array([StoredValue])
    case dictionary([String: StoredValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .boolean(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(Double.self) {
            self = .real(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let array = try? container.decode([StoredValue].self) {
            self = .array(array)
        } else if let dictionary = try? container.decode([String: StoredValue].self) {
            self = .dictionary(dictionary)
        } else if let date = try? container.decode(Date.self) {
            self = .date(date)
        } else {
            self = .data(try container.decode(Data.self))
        }
    }

    /// Reads JSON; nil when it is none.
    init?(json text: String) {
        guard let value = try? JSONDecoder().decode(StoredValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let flag): try container.encode(flag)
        case .integer(let number): try container.encode(number)
        case .real(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .date(let date): try container.encode(date)
        case .data(let data): try container.encode(data)
        case .array(let array): try container.encode(array)
        case .dictionary(let dictionary): try container.encode(dictionary)
        }
    }

    /// What it is, without telling what it says.
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "a truth value"
        case .integer, .real: "a number"
        case .text(let text): "text, \(text.count) characters"
        case .date: "a date"
        case .data(let data): "data, \(data.count) bytes"
        case .array(let array): "a list of \(array.count)"
        case .dictionary(let dictionary): "an object with \(dictionary.count) fields"
        }
    }

    /// The value: texts as they are, data as text where it is text and else in base64, everything else as JSON.
    func text() throws -> String {
        switch self {
        case .text(let text): return text
        case .date(let date): return date.ISO8601Format()
        case .data(let data): return String(data: data, encoding: .utf8) ?? data.base64EncodedString()
        default:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// The text of standard input, without the newline that ends it.
    static func readStandardInput() throws -> String {
        let data = try FileHandle.standardInput.readToEnd() ?? Data()
        guard var text = String(data: data, encoding: .utf8) else { throw ValidationError("Standard input is not text (UTF-8).") }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
