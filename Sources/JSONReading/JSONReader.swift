import Foundation
import Synchronization

/// Decodes values from JSON in one pass over the bytes. That takes a quarter of the time of `JSONDecoder`.
///
/// It returns only values that `JSONDecoder` returns too, and leaves all other documents to it: those in which a type meets
/// an error, also if it catches it, and those with a rare form. Rare forms are escapes, exponents, numbers of more than 16
/// characters, names that are not ASCII, names that occur twice, and the types `Data`, `URL`, `Decimal` and `Float`.
/// Reason: "JSON is decoded in one pass" in Docs/Decisions/Stores.md.
package enum JSONReader {
    /// The types whose documents were left to `JSONDecoder`. They are not tried again.
    private static let left = Mutex<Set<ObjectIdentifier>>([])
    private static let mostLeft = 1_000
    /// Leaves all documents to `JSONDecoder`, if the environment says so.
    private static let isOff = ProcessInfo.processInfo.environment["LOCALDATA_JSON_READER"] == "off"

    /// Returns the value of a document. Optional values are avoided, because their types are looked up in each call.
    /// - Throws: ``NotRead`` if the document is left to `JSONDecoder`.
    package static func value<Value: Decodable>(_ type: Value.Type, in bytes: [UInt8]) throws -> Value {
        let id = ObjectIdentifier(type)
        if isOff || left.withLock({ $0.contains(id) }) { throw NotRead() }
        var isLeft = false
        do { return try read(type, in: bytes, setting: &isLeft) } catch {
            if isLeft { left.withLock { if $0.count < mostLeft { $0.insert(id) } } }
            throw error
        }
    }

    /// Decodes a document, even of a type whose documents are left to `JSONDecoder`.
    /// - Parameter isLeft: Set to true if the document is left to `JSONDecoder` because of its type.
    static func read<Value: Decodable>(_ type: Value.Type, in bytes: [UInt8], setting isLeft: inout Bool) throws -> Value {
        guard let map = JSONMap(bytes) else { throw NotRead() }
        var reading = Reading(map)
        do {
            let value = try reading.value(type, at: 0)
            // A value may keep its decoder, and decode a part later.
            isLeft = reading.hasThrown || reading.hasGivenUp || !isKnownUniquelyReferenced(&reading)
            if !isLeft { return value }
        } catch { isLeft = reading.hasGivenUp }
        throw NotRead()
    }
}

/// The error for a value that is wrong, or is left to `JSONDecoder`.
struct NotRead: Error {}

/// One decoding of a document.
///
/// A type may catch the errors of its properties, and take another value instead, which can depend on the kind of the
/// error. So a reading that has thrown an error has no value.
private final class Reading {
    let map: JSONMap
    /// Whether the type is left to `JSONDecoder`.
    private(set) var hasGivenUp = false
    /// Whether an error was thrown.
    private(set) var hasThrown = false

    init(_ map: JSONMap) { self.map = map }

    /// Returns the error for a type that only `JSONDecoder` can decode.
    func giveUp() -> NotRead {
        hasGivenUp = true
        return NotRead()
    }

    /// Returns the error for a value that is wrong or rare.
    func failure() -> NotRead {
        hasThrown = true
        return NotRead()
    }

    /// Returns the place of a value in its document. It is not known here, so the document is left to `JSONDecoder`.
    func codingPath() -> [any CodingKey] {
        hasGivenUp = true
        return []
    }

    private func known<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw failure() }
        return value
    }

    /// Returns a value as its own type.
    @inline(never) private func cast<Value>(_ value: some Any) throws -> Value { try known(value as? Value) }

    func kind(of node: Int) -> JSONMap.Kind { map.nodes[node].kind }

    /// Throws for a value of another kind.
    func require(_ isExpected: Bool) throws { if !isExpected { throw failure() } }

    func flag(_ node: Int) throws -> Bool {
        try require(kind(of: node) == .yes || kind(of: node) == .no)
        return kind(of: node) == .yes
    }

    func text(_ node: Int) throws -> String {
        try require(kind(of: node) == .text)
        return try known(map.text(node))
    }

    func integer<Number: FixedWidthInteger>(_ node: Int) throws -> Number {
        try require(kind(of: node) == .integer || kind(of: node) == .fraction)
        return try known(kind(of: node) == .integer ? map.integer(node).flatMap { Number(exactly: $0) } : nil)
    }

    func number(_ node: Int) throws -> Double {
        try require(kind(of: node) == .integer || kind(of: node) == .fraction)
        return try known(map.number(node))
    }

    func value<Value: Decodable>(_ type: Value.Type, at node: Int) throws -> Value {
        if type == String.self { return try cast(text(node)) }
        if type == Int.self { return try cast(integer(node) as Int) }
        if type == Double.self { return try cast(number(node)) }
        if type == Bool.self { return try cast(flag(node)) }
        // `JSONDecoder` does not use the initializers of these types.
        if type == Data.self || type == URL.self || type == Decimal.self { throw giveUp() }
        // The type may be a subclass of `Value`.
        return try type.init(from: NodeDecoder(reading: self, node: node))
    }
}

private struct NodeDecoder: Decoder, SingleValueDecodingContainer {
    let reading: Reading
    let node: Int

    var codingPath: [any CodingKey] { reading.codingPath() }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try reading.require(reading.kind(of: node) == .object)
        return KeyedDecodingContainer(ObjectDecoder<Key>(reading: reading, object: node))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try reading.require(reading.kind(of: node) == .array)
        return ArrayDecoder(reading: reading, array: node)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { reading.kind(of: node) == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try reading.flag(node) }
    func decode(_ type: String.Type) throws -> String { try reading.text(node) }
    func decode(_ type: Double.Type) throws -> Double { try reading.number(node) }
    func decode(_ type: Float.Type) throws -> Float { throw reading.giveUp() }
    func decode(_ type: Int.Type) throws -> Int { try reading.integer(node) }
    func decode(_ type: Int8.Type) throws -> Int8 { try reading.integer(node) }
    func decode(_ type: Int16.Type) throws -> Int16 { try reading.integer(node) }
    func decode(_ type: Int32.Type) throws -> Int32 { try reading.integer(node) }
    func decode(_ type: Int64.Type) throws -> Int64 { try reading.integer(node) }
    func decode(_ type: Int128.Type) throws -> Int128 { throw reading.giveUp() }
    func decode(_ type: UInt.Type) throws -> UInt { try reading.integer(node) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try reading.integer(node) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try reading.integer(node) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try reading.integer(node) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try reading.integer(node) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { throw reading.giveUp() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try reading.value(type, at: node) }
}

private struct ObjectDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reading: Reading
    let object: Int

    var codingPath: [any CodingKey] { reading.codingPath() }
    var allKeys: [Key] { reading.map.names(in: object).compactMap(Key.init(stringValue:)) }

    private func find(_ key: Key) -> Int? {
        let name = key.stringValue
        if let node = reading.map.value(name, in: object) { return node }
        // Foundation compares names as texts. A name that is not ASCII can be equal to one that is.
        if !name.utf8.allSatisfy({ $0 < 0x80 }) { _ = reading.giveUp() }
        return nil
    }

    private func node(_ key: Key) throws -> Int {
        guard let node = find(key) else { throw reading.failure() }
        return node
    }

    private func decoder(_ key: Key) throws -> NodeDecoder { NodeDecoder(reading: reading, node: try node(key)) }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { reading.kind(of: try node(key)) == .null }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try reading.flag(node(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try reading.text(node(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try reading.number(node(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try reading.integer(node(key)) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try reading.value(type, at: node(key)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try decoder(key).unkeyedContainer() }
    func superDecoder() throws -> any Decoder { throw reading.giveUp() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw reading.giveUp() }
}

private struct ArrayDecoder: UnkeyedDecodingContainer {
    private let reading: Reading
    private let nodes: [Int]
    private(set) var currentIndex = 0

    init(reading: Reading, array: Int) { (self.reading, nodes) = (reading, reading.map.elements(of: array)) }

    var codingPath: [any CodingKey] { reading.codingPath() }
    var count: Int? { nodes.count }
    var isAtEnd: Bool { currentIndex == nodes.count }

    /// Uses the present element, and goes on to the next one if that does not fail.
    private mutating func take<Value>(_ use: (Int) throws -> Value) throws -> Value {
        try reading.require(!isAtEnd)
        let value = try use(nodes[currentIndex])
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        try reading.require(!isAtEnd)
        return try reading.kind(of: nodes[currentIndex]) == .null && take { _ in true }
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try take { [reading] in try reading.value(type, at: $0) }
    }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try take { [reading] in try NodeDecoder(reading: reading, node: $0).container(keyedBy: type) }
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take { [reading] in try NodeDecoder(reading: reading, node: $0).unkeyedContainer() }
    }
    mutating func superDecoder() throws -> any Decoder { throw reading.giveUp() }
}
