import Foundation
import LocalData

/// Conversions between stored values and the tool's input and output.
extension DocumentValue {
    /// Reads JSON; nil if the text is not JSON.
    init?(json text: String) {
        guard let document = try? StoredDocument(json: Data(text.utf8)) else { return nil }
        self = document.root
    }

    /// A description of the value's kind that does not reveal its content.
    var summary: String {
        switch self {
        case .null: "null"
        case .boolean: "a truth value"
        case .integer, .unsigned, .real, .decimal: "a number"
        case .string(let text): "text, \(text.count) characters"
        case .date: "a date"
        case .data(let data): "data, \(data.count) bytes"
        case .array(let elements): "a list of \(elements.count)"
        case .object(let properties): "an object with \(properties.count) fields"
        }
    }

    /// The bytes of the value: those of a text or of data. Another value is the text of ``text()``.
    func bytes() throws -> Data {
        switch self {
        case .data(let data): data
        default: Data(try text().utf8)
        }
    }

    /// The value as text. A string is unchanged, a date is in ISO 8601, and data is UTF-8 text or else Base64. All other values are JSON.
    func text() throws -> String {
        switch self {
        case .string(let text): return text
        case .date(let date): return date.ISO8601Format()
        case .data(let data): return String(data: data, encoding: .utf8) ?? data.base64EncodedString()
        default:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
