import Foundation
import TestSupport
import Testing

@testable import JSONReading

/// The reader returns a value only if Foundation returns the same one.
@Suite(.slow("decodes many documents")) struct JSONReaderTests {
    private enum Kind: String, Codable, CaseIterable { case a, b, c }

    private enum Choice: Codable, Equatable {
        case one(Int)
        case two(name: String, weight: Double?)
        case three
    }

    private struct Note: Codable, Equatable {
        var number = 1
        var title = "a title"
        var isDone = true
        var weight = 2.5
        var body = "a text that is longer than a small string"
    }

    private struct Child: Codable, Equatable {
        var a: Int?
        var b: [String?]
        var c: [Kind]
    }

    private struct Tree: Codable, Equatable {
        var notes: [Note]
        var map: [String: Int]
        var text: String?
        var lists: [[Int]]
        var date: Date
        var id: UUID
        var child: Child
        var choice: Choice
        var small: UInt8
    }

    /// A type that catches the errors of its properties.
    private struct Tolerant: Decodable, Equatable {
        var a: Int
        var b: String
        var d: Data?

        enum CodingKeys: CodingKey { case a, b, d }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            a = (try? container.decode(Int.self, forKey: .a)) ?? -1
            b = (try? container.decode(String.self, forKey: .b)) ?? "none"
            d = try? container.decode(Data.self, forKey: .d)
        }
    }

    /// A type that tries one form after the other.
    private struct Anything: Decodable, Equatable {
        indirect enum Form: Equatable {
            case null, flag(Bool), integer(Int), number(Double), text(String), list([Anything]), object([String: Anything])
        }
        var form: Form

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                form = .null
            } else if let flag = try? container.decode(Bool.self) {
                form = .flag(flag)
            } else if let integer = try? container.decode(Int.self) {
                form = .integer(integer)
            } else if let number = try? container.decode(Double.self) {
                form = .number(number)
            } else if let text = try? container.decode(String.self) {
                form = .text(text)
            } else if let list = try? container.decode([Anything].self) {
                form = .list(list)
            } else {
                form = .object(try container.decode([String: Anything].self))
            }
        }
    }

    /// A type that decides by the kind of the error that it catches.
    private struct Discerning: Codable, Equatable {
        var a: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            do { a = try container.decode(String.self, forKey: .a) } catch DecodingError.keyNotFound {
                a = "unnamed"
            } catch DecodingError.typeMismatch {
                a = "another type"
            } catch { a = "unknown" }
        }
    }

    private struct Outer: Codable, Equatable {
        var a: Discerning?
        init(from decoder: any Decoder) throws {
            a = try? decoder.container(keyedBy: CodingKeys.self).decode(Discerning.self, forKey: .a)
        }
    }

    private class Shape: Codable {
        var kind: String
    }

    private final class Circle: Shape {
        var radius = 0.0

        private enum CodingKeys: CodingKey { case radius }

        required init(from decoder: any Decoder) throws {
            radius = try decoder.container(keyedBy: CodingKeys.self).decode(Double.self, forKey: .radius)
            try super.init(from: decoder)
        }
    }

    /// A type that chooses the class of its value.
    private struct AnyShape: Decodable, Equatable {
        let shape: Shape

        init(from decoder: any Decoder) throws {
            let kind = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .kind)
            let type: Shape.Type = kind == "circle" ? Circle.self : Shape.self
            shape = try decoder.singleValueContainer().decode(type)
        }

        private enum CodingKeys: CodingKey { case kind }

        static func == (left: Self, right: Self) -> Bool {
            left.shape.kind == right.shape.kind && (left.shape as? Circle)?.radius == (right.shape as? Circle)?.radius
        }
    }

    /// A type with a name that is canonically equal to an ASCII one: the Kelvin sign.
    private struct Kelvin: Codable, Equatable {
        var degrees: Int?
        enum CodingKeys: String, CodingKey { case degrees = "\u{212A}" }
    }

    /// A type that keeps its decoder and decodes later.
    private struct Late: Decodable, Equatable {
        let decoder: any Decoder
        init(from decoder: any Decoder) throws { self.decoder = decoder }
        static func == (left: Self, right: Self) -> Bool {
            (try? [Float](from: left.decoder)) == (try? [Float](from: right.decoder))
        }
    }

    /// Makes documents: correct ones, and ones with mistakes.
    private struct Documents {
        var numbers: SeededGenerator
        static let texts = [
            "", "a", "name", "é", "e\u{301}", "日本", "😀", "\"", "\\", "\n", "a b", "title", "1", "true", "/", "\u{7F}", "\0",
        ]
        static let numerals = [
            "-3", "0", "-0", "01", "1.0", "1.5", "-2.25", "1e3", "1E-2", "0.1", "123456789012345678", "99999999999999999999", "1.", ".5",
            "+1", "0.30000000000000004", "179769313486231570000000000000000000000", "-", "--1", "5.0e0", "255", "256", "3.0",
            "999999999999999",
            "0.123456789012345", "123456.789012345",
        ]

        mutating func index(_ count: Int) -> Int { Int.random(in: 0..<count, using: &numbers) }
        mutating func one<Element>(_ all: [Element]) -> Element { all[index(all.count)] }

        mutating func any(_ depth: Int = 0) -> String {
            switch index(depth > 3 ? 6 : 9) {
            case 0: return index(5) == 0 ? one(["nul", "True"]) : one(["null", "true", "false"])
            case 1, 2: return index(3) == 0 ? String(Int64.random(in: .min ... .max, using: &numbers)) : one(Self.numerals)
            case 3, 4, 5:
                let text = one(Self.texts)
                if index(30) == 0 { return "\"\(text)\"" }
                return (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            case 6:
                let elements = (0..<index(4)).map { _ in any(depth + 1) }
                return "[" + elements.joined(separator: index(20) == 0 ? ",," : one([",", ", ", " ,\n"])) + "]"
            default:
                let names = ["a", "b", "c", "d", "title", "é", "one", "_0"]
                let pairs = (0..<index(4)).map { _ in "\"\(one(names))\"\(one([":", ": ", " :\t"]))\(any(depth + 1))" }
                return "{" + pairs.joined(separator: ",") + "}"
            }
        }

        mutating func tree() -> Tree {
            Tree(
                notes: (0..<index(3)).map { Note(number: $0, title: one(Self.texts), weight: Double(index(10_000)) / 100) },
                map: ["a": 1, "b": index(9)], text: one([nil, "m"]), lists: [[1], [], [2, 3]],
                date: Date(timeIntervalSinceReferenceDate: Double(index(1_000_000)) / 7),
                id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
                child: Child(a: one([nil, 1]), b: ["x", nil], c: [.a, .c]),
                choice: one([.one(3), .two(name: "n", weight: nil), .two(name: "x", weight: 1.5), .three]),
                small: UInt8(index(256)))
        }
    }

    private func read<Value: Decodable>(_ type: Value.Type, _ bytes: Data) -> (value: Value?, isLeft: Bool) {
        var isLeft = false
        let value = try? JSONReader.read(type, in: Array(bytes), setting: &isLeft)
        return (value, isLeft)
    }

    /// Expects the same value as that of Foundation, or none. Returns whether the reader has a value.
    @discardableResult private func expectSame<Value: Decodable & Equatable>(_ type: Value.Type, _ bytes: Data) -> Bool {
        guard let value = read(type, bytes).value else { return false }
        let expected = try? JSONDecoder().decode(type, from: bytes)
        #expect(value == expected, "\(type) \(String(decoding: bytes, as: UTF8.self))")
        return true
    }

    @Test(arguments: 0..<8) func `random documents have the value that Foundation finds, or are left to it`(part: UInt64) throws {
        var documents = Documents(numbers: SeededGenerator(part))
        for _ in 0..<500 {
            let bytes = Data(documents.any().utf8)
            expectSame(Anything.self, bytes)
            expectSame([String: Int].self, bytes)
            expectSame([Int].self, bytes)
            expectSame([String].self, bytes)
            expectSame(Tolerant.self, bytes)
            expectSame(Child.self, bytes)
            expectSame(Choice.self, bytes)
            expectSame(String.self, bytes)
            expectSame(Int.self, bytes)
            expectSame(Double.self, bytes)
            expectSame(Bool.self, bytes)
            expectSame(UInt8.self, bytes)
            expectSame(UInt64.self, bytes)
            expectSame(Int?.self, bytes)
            expectSame([Double?].self, bytes)
            expectSame([[String: Anything]].self, bytes)
            expectSame(Float.self, bytes)
            expectSame([Int: String].self, bytes)
            expectSame(Discerning.self, bytes)
            expectSame(Outer.self, bytes)
            expectSame(Late.self, bytes)
        }
    }

    @Test(arguments: 0..<8) func `encoded values are read back, and spoilt ones as Foundation reads them`(part: UInt64) throws {
        var documents = Documents(numbers: SeededGenerator(part))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for _ in 0..<100 {
            var bytes = try encoder.encode(documents.tree())
            expectSame(Tree.self, bytes)
            expectSame(Anything.self, bytes)
            bytes[documents.index(bytes.count)] = UInt8(documents.index(256))
            expectSame(Tree.self, bytes)
            expectSame(Anything.self, bytes)
        }
    }

    @Test func `a name is found in its own object, in any order`() throws {
        struct Inner: Decodable, Equatable { var p: Int }
        struct Outer: Decodable, Equatable {
            var inner: Inner
            var q, p, r: Int
        }
        for document in [
            #"{"inner":{"p":1,"q":2,"r":3},"q":4,"p":5,"r":6}"#, #"{"r":6,"p":5,"inner":{"q":2,"p":1},"q":4}"#,
            #"{"q":4,"r":6,"inner":{"r":7,"p":1},"p":5}"#,
        ] {
            let value = read(Outer.self, Data(document.utf8)).value
            #expect(value == Outer(inner: Inner(p: 1), q: 4, p: 5, r: 6))
        }
        #expect(read(Outer.self, Data(#"{"inner":{"p":1,"q":2},"p":5,"r":6}"#.utf8)).value == nil)
    }

    @Test func `ordinary values are not left to Foundation`() throws {
        let encoder = JSONEncoder()
        #expect(expectSame(Note.self, try encoder.encode(Note())))
        #expect(expectSame([Note].self, try encoder.encode([Note(), Note(weight: -0.25)])))
        #expect(expectSame([String: [Int?]].self, Data(#" {"a": [1, null], "b": []} "#.utf8)))
        #expect(expectSame(Choice.self, try encoder.encode(Choice.two(name: "n", weight: 1))))
        #expect(expectSame(Child.self, Data(#"{"b":["x",null],"c":["a"],"more":{"deep":[[]]}}"#.utf8)))
    }

    @Test func `a type that the reader cannot decode is left to Foundation from then on`() throws {
        struct Holder: Codable, Equatable { var data = Data([1, 2, 3]) }
        let bytes = try JSONEncoder().encode(Holder())
        #expect(throws: NotRead.self) { try JSONReader.value(Holder.self, in: Array(bytes)) }
        #expect(read(Holder.self, bytes).isLeft)
    }

    @Test(arguments: ["{}", #"{"a":1}"#, #"{"a":null}"#, #"{"a":{}}"#, #"{"a":{"a":2}}"#, #"{"a":"b"}"#, #"{"a":{"a":"b"}}"#])
    func `a type that decides by the kind of an error has the value that Foundation finds`(document: String) {
        expectSame(Discerning.self, Data(document.utf8))
        expectSame(Outer.self, Data(document.utf8))
    }

    @Test func `a class that is chosen by the document keeps its properties`() throws {
        let bytes = Data(#"{"kind":"circle","radius":2}"#.utf8)
        #expect(expectSame(AnyShape.self, bytes))
        #expect(try #require(read(AnyShape.self, bytes).value).shape is Circle)
    }

    @Test func `a rare number or a missing property does not switch the reader off for a type`() throws {
        let rare = Data(#"{"number":1,"title":"a","isDone":true,"weight":0.30000000000000004,"body":"b"}"#.utf8)
        for document in [rare, Data("{}".utf8)] {
            let reading = read(Note.self, document)
            #expect(reading.value == nil && !reading.isLeft)
        }
    }

    @Test func `names that are only canonically equal, and decoders that are kept, are left to Foundation`() {
        #expect(!expectSame(Kelvin.self, Data(#"{"K":1}"#.utf8)))
        #expect(!expectSame(Late.self, Data("[1.5]".utf8)))
    }

    @Test func `deep and wide documents are left to Foundation`() {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(!expectSame(Anything.self, Data(deep.utf8)))
        let wide = "{" + (0..<1_000).map { "\"n\($0)\":\($0)" }.joined(separator: ",") + "}"
        #expect(!expectSame([String: Int].self, Data(wide.utf8)))
    }
}
