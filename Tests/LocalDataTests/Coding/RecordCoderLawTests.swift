import BackendContract
import Foundation
import Sealing
import TestSupport
import Testing

@testable import LocalData

/// Laws (statements that are checked with random values) of the record coder. The coder turns values into records and
/// back. A value becomes a native property list value or bytes, and may also be sealed, which means encrypted. In each
/// form, it must decode to the same value.
@Suite(.inTurn, .tags(.campaign)) struct RecordCoderLawTests {
    private struct Shape: Codable, Hashable, Sendable {
        enum Kind: String, Codable { case round, square }
        var name: String
        var count: Int?
        var kind: Kind
        var parts: [String: [Double]]
    }

    private let router = StorageRouter(configuration: .inMemory())

    /// The stores of the tests: a property list, which stores native values, and a keyring, which stores bytes. Each is
    /// used without and with sealing.
    private static let places: [(StorageDomain, SecurityPolicy)] = [
        (.userDefaults(suite: "coder"), .automatic), (.keychain(service: "coder"), .automatic),
        (.userDefaults(suite: "coder"), .encrypted(.keychain)), (.keychain(service: "coder"), .encrypted(.keychain)),
    ]

    /// Checks every serializer with every store. `bits` distinguishes values that `==` does not, such as 0.0 and -0.0.
    private func check<Value: Codable & Sendable>(
        _ values: Arbitrary<Value>, _ serializers: [Serializer<Value>] = [.json, .plist], count: Int = 25, bits: (Value) -> [UInt8]
    ) async {
        let copies = ["userDefaults/old//v": "00ff"]
        await forAll(values, count: count) { value in
            for serializer in serializers {
                for (domain, security) in Self.places {
                    let key = StorageKey<Value>(
                        name: "v", domain: domain, security: security, serializer: serializer, owner: "Tests", description: "A value")
                    let slot = try router.slots.routes.slot(for: key)
                    let origin = RecordOrigin(copies: copies, migration: "m", boot: nil)
                    let coded: CodedRecord
                    do {
                        coded = try await router.coder.complete(try router.coder.prepare(value, slot, .new), origin: origin)
                    } catch StorageError
                        .encodingFailed
                    {
                        // JSON has no NaN and no infinite numbers. The coder refuses them and writes no approximation.
                        try hold(serializer.name == "json" && "\(value)".contains { "ni".contains($0) }, "an encodable value was refused")
                        continue
                    }
                    if case .native = coded.payload {
                        let isAllowed = slot.route.capabilities.storesNativeValues && security == .automatic
                        try hold(isAllowed, "a native value in \(domain) \(security)")
                    }
                    try same(coded.metadata.sealing != nil, security != .automatic, "whether it is sealed")
                    // Encode and decode the record as a store of bytes does.
                    let record = StorageRecord(payload: coded.payload, metadata: coded.metadata, revision: StorageRevision([1]))
                    guard case .record(let read) = RecordCodec.decode(RecordCodec.encode(record)) else {
                        throw Broken("the encoded record does not decode")
                    }
                    let decoded = try await router.coder.decode(read, slot)
                    try same(bits(decoded), bits(value), "\(serializer.name) in \(domain), \(security)")
                    try same(try await router.coder.origin(of: read.metadata, slot.route), origin, "the origin")
                }
            }
        }
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func bytes(_ number: Double) -> [UInt8] { withUnsafeBytes(of: number.bitPattern.bigEndian) { Array($0) } }

    @Test func `texts keep each of their Unicode scalars`() async { await check(.text(), count: 60, bits: Self.bytes) }

    @Test func `integers are restored exactly`() async {
        await check(Arbitrary<Int>.number) { Self.bytes("\($0)") }
        await check(Arbitrary<UInt64>.number) { Self.bytes("\($0)") }
        await check(Arbitrary<Int8>.number) { Self.bytes("\($0)") }
    }

    @Test func `floating-point numbers are restored bit by bit, and the json serializer refuses NaN and infinity`() async {
        // All NaN count as equal, because the property list coders do not keep the bits of a NaN.
        await check(Arbitrary<Double>.number, count: 60) { $0.isNaN ? [1] : Self.bytes($0) }
        await check(Arbitrary<UInt32>.number.map { Float(bitPattern: $0) }) { $0.isNaN ? [1] : Self.bytes(Double($0)) }
    }

    @Test func `Booleans, dates and data are restored`() async {
        await check(Arbitrary<Bool>.flag, count: 4) { [$0 ? 1 : 0] }
        await check(Arbitrary<Int64>.number(in: -1 << 50...1 << 50).map { Date(timeIntervalSinceReferenceDate: Double($0) / 1_024) }) {
            Self.bytes($0.timeIntervalSinceReferenceDate)
        }
        await check(Arbitrary<[UInt8]>.bytes().map { Data($0) }, [.json, .plist, .data]) { Array($0) }
    }

    @Test func `the json and data serializers store Data as bytes, and every built-in serializer reads Data in every stored form`() async {
        let serializers: [Serializer<Data>] = [.json, .plist, .data]
        await forAll(Arbitrary<[UInt8]>.bytes().map { Data($0) }, count: 25) { value in
            for (domain, security) in Self.places {
                func slot(_ serializer: Serializer<Data>) throws -> Slot<Data> {
                    try router.slots.routes.slot(
                        for: StorageKey(
                            name: "v", domain: domain, security: security, serializer: serializer, owner: "Tests", description: "A value"))
                }
                var written: [CodedRecord] = []
                for serializer in serializers {
                    let coded = try await router.coder.complete(try router.coder.prepare(value, try slot(serializer), .new), origin: nil)
                    let size = value.count + (security == .automatic ? 0 : Envelope.overhead)
                    if serializer.name != "plist" { try same(coded.payload.byteCount, size, "the size of \(serializer.name)") }
                    written.append(coded)
                }
                // Earlier versions encoded data as JSON.
                var older = try router.coder.prepare(value, try slot(.json), .new)
                let json = Array(try JSONEncoder().encode(value))
                older = EncodedValue(
                    route: older.route, bytes: json, native: nil, shape: RecordShape(try slot(.json).key, serializer: "json"), facts: .new,
                    references: .none)
                written.append(try await router.coder.complete(older, origin: nil))
                for (index, coded) in written.enumerated() {
                    let record = StorageRecord(payload: coded.payload, metadata: coded.metadata, revision: StorageRevision([1]))
                    for serializer in serializers {
                        let decoded = try await router.coder.decode(record, try slot(serializer))
                        try same(decoded, value, "form \(index) in \(domain), \(security), read as \(serializer.name)")
                    }
                }
            }
        }
    }

    @Test func `lists, dictionaries, optionals and custom types are restored`() async {
        await check(Arbitrary<String>.text().list(0...5)) { $0.flatMap { Self.bytes($0) + [0xFF] } }
        await check(Arbitrary<String>.text().optional, [.json]) { $0.map { [1] + Self.bytes($0) } ?? [0] }
        let finite = Arbitrary<Int32>.number.map { Double($0) / 8 }
        let parts = zip(Arbitrary<String>.text(), finite.list(0...3)).list(0...3)
        let shapes = zip(
            Arbitrary<String>.text(), Arbitrary<Int>.number.optional, Arbitrary<Shape.Kind>.one(of: [.round, .square]), parts
        ).map { name, count, kind, parts in
            Shape(name: name, count: count, kind: kind, parts: Dictionary(parts, uniquingKeysWith: { first, _ in first }))
        }
        await check(shapes) { shape in
            let parts = shape.parts.map { Self.bytes($0.key) + [0xFF] + $0.value.flatMap(Self.bytes) }
            return Self.bytes(shape.name) + [0xFF] + Self.bytes("\(shape.count.map { "\($0)" } ?? "-") \(shape.kind)")
                + parts.sorted { $0.lexicographicallyPrecedes($1) }.flatMap(\.self)
        }
    }

    @Test func `a custom serializer gets back the bytes that it produced`() async {
        let own = Serializer<Data>.custom(name: "own", encode: { Data($0.reversed()) }, decode: { Data($0.reversed()) })
        await check(Arbitrary<[UInt8]>.bytes().map { Data($0) }, [own]) { Array($0) }
    }

    @Test func `a JSON document is stored as a native scalar only if the scalar can be turned back into the document`() async {
        let pieces = Arbitrary<String>.one(of: [
            "0", "1", "9", "-", ".", "e", "E", "+", "00", "1e400", "9223372036854775808", "\"", "a", " ", "true", "null",
        ])
        await forAll(pieces.list(1...5).map { $0.joined() }, count: 600) { text in
            guard let native = NativeCoding.scalar(ofJSON: Array(text.utf8)), case .string = native else {
                guard let native = NativeCoding.scalar(ofJSON: Array(text.utf8)) else { return }
                try same(NativeCoding.json(of: native), Data(text.utf8), "\(native)")
                return
            }
            let again = NativeCoding.json(of: native) ?? Data()
            try same(NativeCoding.scalar(ofJSON: Array(again)), native, "the scalar after encoding and decoding")
        }
    }

    @Test func `the short form of an origin decodes as that origin`() async {
        let pieces = Arbitrary<String>.one(of: [
            "", "a", "\"", "\\", "\n", "\u{1}", "/", "é", "e\u{301}", "🙂", "5:value,", "\u{7F}", "\u{2028}",
        ])
        await forAll(pieces.list(0...4).map { $0.joined() }, count: 600) { text in
            for migration in [nil, text] {
                let origin = RecordOrigin(copies: [text: "r1", "b\(text)": text], migration: migration, boot: migration)
                let text = try #require(origin.shortText)
                try same(try JSONDecoder().decode(RecordOrigin.self, from: Data(text)), origin, "the origin")
            }
        }
    }
}
