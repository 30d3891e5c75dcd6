import Foundation
import TestSupport
import Testing

@testable import LocalData

/// Texts are encoded and decoded without Foundation if they need no escapes.
struct SimpleJSONTests {
    /// Characters that JSON escapes, and others that it does not.
    private static let characters: [Character] = [
        "a", "é", "日", "😀", "/", " ", "\"", "\\", "\n", "\u{0}", "\u{7F}", "\u{2028}", "e\u{301}",
    ]

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a text has the JSON that Foundation writes, and Foundation's JSON is read as the same text`(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        let text = String((0..<Int.random(in: 0...24, using: &generator)).map { _ in Self.characters.randomElement(using: &generator)! })
        let expected = try Coders.jsonEncoder.encode(text)
        #expect(try Serializer<String>.json.encode(text) == expected)
        #expect(try Serializer<String>.json.decode(expected).utf8.elementsEqual(text.utf8))
        let isPlain = !text.utf8.contains { $0 < 0x20 || [UInt8(ascii: "\""), UInt8(ascii: "\\")].contains($0) }
        #expect((SimpleJSON.data(of: text) != nil) == isPlain)
    }

    @Test(arguments: 1...20) func `an escaped character is found at every position of a text`(length: Int) {
        for position in 0..<length {
            for scalar in UInt8.min...UInt8.max {
                var text = Array(repeating: Unicode.Scalar("a"), count: length)
                text[position] = Unicode.Scalar(scalar)
                let string = String(String.UnicodeScalarView(text))
                let isEscaped = scalar < 0x20 || scalar == UInt8(ascii: "\"") || scalar == UInt8(ascii: "\\")
                #expect((SimpleJSON.data(of: string) == nil) == isEscaped)
            }
        }
    }

    @Test(arguments: ["", "\"", "\"a", "a\"", "\"a\"b\"", "\"\u{0}\"", " \"a\"", "\"a\" ", "7", "null", "\"\\u0041\""])
    func `other bytes are left to Foundation`(document: String) throws {
        let data = Data(document.utf8)
        #expect(SimpleJSON.text(in: Array(data)) == nil)
        #expect((try? Serializer<String>.json.decode(data)) == (try? Coders.jsonDecoder.decode(String.self, from: data)))
    }

    @Test func `bytes that are not UTF-8 are no text`() {
        let data = Data([UInt8(ascii: "\""), 0xFF, UInt8(ascii: "\"")])
        #expect(SimpleJSON.text(in: Array(data)) == nil)
        #expect(throws: DecodingError.self) { _ = try Serializer<String>.json.decode(data) }
    }
}
