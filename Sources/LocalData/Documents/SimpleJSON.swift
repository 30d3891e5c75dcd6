import Foundation

/// JSON documents of a text without escapes. They are the most frequent values, and `JSONEncoder` and `JSONDecoder` take ten times as long.
/// The bytes and the texts are the same; every other document is left to these.
enum SimpleJSON {
    private static let quote = UInt8(ascii: "\"")

    private static func isEscaped(_ byte: UInt8) -> Bool { byte < 0x20 || byte == quote || byte == UInt8(ascii: "\\") }

    /// Appends the document of a text. Appends nothing and returns false if the text needs escapes.
    static func append(_ text: String, to bytes: inout [UInt8]) -> Bool {
        guard text.utf8.withContiguousStorageIfAvailable({ !$0.contains(where: isEscaped) }) == true else { return false }
        // An array that grows leaves copies of the text behind.
        if bytes.isEmpty { bytes.reserveCapacity(text.utf8.count + 2) }
        bytes.append(quote)
        bytes += text.utf8
        bytes.append(quote)
        return true
    }

    /// Returns the document of a value; nil if it is no text, or needs escapes.
    static func data<Value>(of value: Value) -> Data? {
        var bytes: [UInt8] = []
        guard Value.self == String.self, let text = value as? String, append(text, to: &bytes) else { return nil }
        return Data(bytes)
    }

    /// Returns the value of a document; nil if the type is not that of a text, or the document has escapes or is no text.
    static func value<Value>(_ type: Value.Type, in data: Data) -> Value? {
        guard type == String.self, data.count >= 2, data.first == quote, data.last == quote else { return nil }
        let text = data.withUnsafeBytes { bytes in
            let content = UnsafeRawBufferPointer(rebasing: bytes.dropFirst().dropLast())
            return content.contains(where: isEscaped) ? nil : String(validating: content, as: UTF8.self)
        }
        return text as? Value
    }
}
