import BackendContract
import Foundation

/// JSON documents of a text without escapes. They are the most frequent values, and `JSONEncoder` and `JSONDecoder` take ten times as long.
/// The bytes and the texts are the same; every other document is left to these.
enum SimpleJSON {
    private static let quote = UInt8(ascii: "\"")

    /// Whether text has characters that JSON escapes: eight bytes at once. A byte is below a limit if the subtraction of the limit borrows.
    /// It is a quote or a backslash if the difference to this character is below 1.
    private static func hasEscapes(_ text: UnsafeRawBufferPointer) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        func escapes(_ bytes: UInt64) -> Bool {
            let (quotes, slashes) = (bytes ^ ones * 0x22, bytes ^ ones * 0x5C)
            return ((bytes &- ones * 0x20) & ~bytes | (quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes) & ones << 7 != 0
        }
        return stride(from: 0, through: text.count - 8, by: 8).contains { escapes(text.loadUnaligned(fromByteOffset: $0, as: UInt64.self)) }
            || escapes(text[(text.count & ~7)...].reduce(ones * 0x20) { $0 << 8 | UInt64($1) })
    }

    /// Appends the document of a text. Appends nothing and returns false if the text needs escapes.
    static func append(_ text: String, to bytes: inout [UInt8]) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { text in
            if hasEscapes(UnsafeRawBufferPointer(text)) { return false }
            // An array that grows leaves copies of the text behind.
            if bytes.isEmpty { bytes.reserveCapacity(text.count + 2) }
            bytes.append(quote)
            bytes.append(contentsOf: text)
            bytes.append(quote)
            return true
        } ?? false
    }

    /// Returns the document of a value; nil if it is no text, or needs escapes.
    static func data<Value>(of value: Value) -> Data? {
        var bytes: [UInt8] = []
        guard Value.self == String.self, let text = value as? String, append(text, to: &bytes) else { return nil }
        return Data(bytes)
    }

    /// Returns the text of a document; nil if the document has escapes or is no text.
    static func text(in bytes: [UInt8]) -> String? {
        guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return nil }
        return bytes.withUnsafeBytes { bytes in
            let content = UnsafeRawBufferPointer(rebasing: bytes.dropFirst().dropLast())
            return hasEscapes(content) ? nil : String(utf8: content)
        }
    }
}
