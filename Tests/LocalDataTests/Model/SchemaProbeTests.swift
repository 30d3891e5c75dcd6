import Foundation
import LocalData
import LocalDataModels
import TestSupport
import Testing

/// The schema probe, which derives the attributes of a type by running its `init(from:)` with a decoder that has no
/// data.
@Suite(.inTurn) struct SchemaProbeTests {
    enum Color: String, Codable { case red, green }
    enum Size: Int, Codable { case small = 3, large = 5 }
    enum Shape: Codable { case circle(radius: Double), square }
    struct Level: RawRepresentable, Codable { var rawValue: Int }
    struct Phone: Codable { var number: String, isPrivate: Bool? }

    struct Everything: Codable {
        var text: String
        var flag: Bool
        var count: UInt16
        var number: Float
        var price: Decimal
        var due: Date?
        var bytes: Data
        var id: UUID
        var color: Color
        var size: Size?
        var level: Level
        var shape: Shape?
        var tags: Set<String>
        var phones: [Phone]
        var best: Phone?
        var counts: [String: Int]
        var byNumber: [Int: [Phone]]
        var last: String
    }

    @Test func `the probe finds every kind of property, in order`() {
        let phone = AttributeType.compound(
            "Phone", [AttributeDescription("number", .string), AttributeDescription("isPrivate", .boolean, isOptional: true)])
        let expected: [AttributeDescription] = [
            AttributeDescription("text", .string), AttributeDescription("flag", .boolean), AttributeDescription("count", .integer),
            AttributeDescription("number", .double), AttributeDescription("price", .decimal),
            AttributeDescription("due", .date, isOptional: true), AttributeDescription("bytes", .data), AttributeDescription("id", .uuid),
            AttributeDescription("color", .string), AttributeDescription("size", .integer, isOptional: true),
            AttributeDescription("level", .integer), AttributeDescription("shape", .named("Shape"), isOptional: true),
            AttributeDescription("tags", .array(.string)), AttributeDescription("phones", .array(phone)),
            AttributeDescription("best", phone, isOptional: true), AttributeDescription("counts", .dictionary(.integer)),
            AttributeDescription("byNumber", .dictionary(.array(phone))), AttributeDescription("last", .string),
        ]
        #expect(AttributeType.of(Everything.self) == .compound("Everything", expected))
        #expect(EntityDescription("all", of: Everything.self) == EntityDescription("all", expected))
    }

    @Test func `the attribute type of a type that is not a struct describes the form in which its values are stored`() {
        #expect(AttributeType.of(String.self) == .string)
        #expect(AttributeType.of(Int?.self) == .integer)
        #expect(AttributeType.of([[Bool]].self) == .array(.array(.boolean)))
        #expect(AttributeType.of(Color.self) == .string)
        #expect(AttributeType.of(Size.self) == .integer)
        #expect(AttributeType.of(Level.self) == .integer)
        #expect(AttributeType.of([Color: Int].self) == .named("Dictionary<Color, Int>"))
        #expect(AttributeType.of(StoredDocument.self) == .named("StoredDocument"))
        #expect(EntityDescription("color", of: Color.self).attributes.isEmpty)
    }

    struct Node: Codable { var name: String, children: [Node] }
    final class Chain: Codable { var next: Chain?, name = "" }
    struct Left: Codable { var right: Right? }
    struct Right: Codable { var lefts: [String: Left] }

    struct Branch: StorageModel {
        var name: String
        var parts: [Branch]
        static var attributes: [AttributeDescription] { [.init("name", .string), .init("parts", of: [Branch].self)] }
    }

    @Test func `the description of a recursive type refers to the type by its name`() {
        #expect(
            EntityDescription("n", of: Node.self).attributes
                == [AttributeDescription("name", .string), AttributeDescription("children", .array(.named("Node")))])
        #expect(
            EntityDescription("n", of: Chain.self).attributes == [
                AttributeDescription("next", .named("Chain"), isOptional: true), AttributeDescription("name", .string),
            ])
        #expect(
            AttributeType.of(Left.self)
                == .compound(
                    "Left",
                    [
                        AttributeDescription(
                            "right", .compound("Right", [AttributeDescription("lefts", .dictionary(.named("Left")))]), isOptional: true)
                    ]))
        #expect(
            Branch.attributes.last
                == AttributeDescription(
                    "parts",
                    .array(
                        .compound(
                            "Branch",
                            [
                                AttributeDescription("name", .string), AttributeDescription("parts", .array(.named("Branch"))),
                            ]))))
    }

    struct Choosy: Codable {
        struct Refused: Error {}
        init(from decoder: any Decoder) throws {
            let text = try decoder.container(keyedBy: Name.self).decode(String.self, forKey: .name)
            if text.isEmpty { throw Refused() }
        }
        func encode(to encoder: any Encoder) throws {}
        enum Name: CodingKey { case name }
    }

    struct Either: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(Int.self)) != nil { _ = try container.decode(String.self) }
        }
    }

    struct Nested: Decodable {
        enum Outer: CodingKey { case position }
        enum Inner: CodingKey { case x, y }
        init(from decoder: any Decoder) throws {
            let inner = try decoder.container(keyedBy: Outer.self).nestedContainer(keyedBy: Inner.self, forKey: .position)
            _ = (try inner.decode(Double.self, forKey: .x), try inner.decodeIfPresent(Double.self, forKey: .y))
        }
    }

    struct Pair: Decodable {
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            _ = (try list.decode(Double.self), try list.decode(Double.self))
        }
    }

    struct Greedy: Decodable {
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            while true { _ = try list.decode(Int.self) }
        }
    }

    class Base: Codable { var name = "" }
    final class Derived: Base {
        var age = 0
        enum CodingKeys: CodingKey { case age }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            age = try container.decode(Int.self, forKey: .age)
            try super.init(from: container.superDecoder())
        }
    }

    @Test func `the probe follows a handwritten init from a decoder where possible, and describes other types only by their name`() {
        #expect(AttributeType.of(Choosy.self) == .named("Choosy"))
        #expect(AttributeType.of(Either.self) == .named("Either"))
        #expect(AttributeType.of(Greedy.self) == .named("Greedy"))
        #expect(AttributeType.of(Pair.self) == .array(.double))
        #expect(AttributeType.of(Stage.self) == .named("Stage"))
        #expect(
            AttributeType.of(Nested.self)
                == .compound(
                    "Nested",
                    [
                        AttributeDescription(
                            "position",
                            .compound("object", [AttributeDescription("x", .double), AttributeDescription("y", .double, isOptional: true)]))
                    ]))
        #expect(
            AttributeType.of(Derived.self)
                == .compound(
                    "Derived",
                    [
                        AttributeDescription("age", .integer),
                        AttributeDescription("super", .compound("object", [AttributeDescription("name", .string)])),
                    ]))
    }
}
