import BackendContract
import Foundation
import TestSupport
import Testing

/// Tests of Base64 against Foundation's implementation.
@Suite(.inTurn) struct Base64Tests {
    private func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: Base64.encodedLength(of: bytes.count))
        text.withUnsafeMutableBufferPointer { text in bytes.withUnsafeBytes { Base64.encode($0, into: text) } }
        return text
    }

    private func decoded(_ text: [UInt8], _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return bytes.withUnsafeMutableBytes { Base64.decode(text[...], into: $0) } ? bytes : nil
    }

    @Test func `data of any length and content is encoded and decoded as by Foundation`() {
        for count in 0...48 {
            for first in stride(from: 0, through: 255, by: 5) {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: first + $0 * 37) }
                let text = Array(Data(bytes).base64EncodedString().utf8)
                #expect(encoded(bytes) == text)
                #expect(decoded(text, count) == bytes)
                #expect(Base64.encode(bytes) == text && Base64.decode(text[...]) == bytes)
            }
        }
    }

    @Test func `a text that does not encode exactly the expected number of bytes is refused`() {
        let text = encoded(Array(0..<32))
        for place in text.indices.dropLast() {
            for letter in UInt8.min ... .max {
                var other = text
                other[place] = letter
                let expected = Data(base64Encoded: Data(other)).map(Array.init)
                // Foundation accepts texts whose unused bits are set.
                // This decoder refuses them, so that each key has only one text.
                let isCanonical = expected.map(encoded) == other
                #expect(decoded(other, 32) == (isCanonical ? expected : nil), "\(letter) at \(place)")
            }
        }
        for count in [0, 31, 33, 34] { #expect(decoded(text, count) == nil) }
        #expect(decoded(Array(text.dropLast()), 32) == nil)
        #expect(decoded(Array(text.dropLast()) + Array("A".utf8), 32) == nil)
    }
}
