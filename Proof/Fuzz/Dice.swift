import BackendContract

/// Makes values from the bytes of an input, so that a mutation of the bytes mutates the values. After the end of the
/// input all bytes are zero.
struct Dice {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Whether all bytes have been used.
    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// A number below a bound, which is at most 256.
    mutating func number(below bound: Int) -> Int { Int(byte()) % bound }

    mutating func word() -> UInt64 { (0..<8).reduce(0) { word, _ in word << 8 | UInt64(byte()) } }

    /// At most `limit` bytes, and not more than the input still has.
    mutating func bytes(atMost limit: Int = 255) -> [UInt8] {
        let count = min(number(below: 256), limit, rest.count)
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// All bytes that are left.
    mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// A text. Invalid UTF-8 is repaired.
    mutating func text(atMost limit: Int = 255) -> String { String(decoding: bytes(atMost: limit), as: UTF8.self) }

    mutating func optional<Value>(_ make: (inout Dice) -> Value) -> Value? { flag() ? make(&self) : nil }

    mutating func revision() -> StorageRevision { StorageRevision([byte()] + bytes(atMost: 20)) }

    mutating func metadata() -> StorageMetadata {
        var metadata = StorageMetadata()
        let parts = byte()
        if parts & 1 != 0 { metadata.serializer = text() }
        if parts & 2 != 0 { metadata.typeTag = text() }
        if parts & 4 != 0 { metadata.schemaVersion = Int(Int64(bitPattern: word())) }
        if parts & 8 != 0 { metadata.origin = bytes() }
        if parts & 16 != 0 { metadata.sealing = text() }
        if parts & 32 != 0 { metadata.createdAt = Double(bitPattern: word()) }
        if parts & 64 != 0 { (metadata.modifiedAt, metadata.expiresAt) = (Double(bitPattern: word()), Double(bitPattern: word())) }
        if parts & 128 != 0 {
            for _ in 0..<number(below: 8) {
                let name = text()
                metadata.attributes[name] = text()
            }
        }
        return metadata
    }

    mutating func value(depth: Int = 0) -> NativeValue {
        switch number(below: depth < 12 ? 11 : 8) {
        case 0: .string(text())
        case 1: .integer(Int64(bitPattern: word()))
        case 2: .unsigned(word())
        case 3: .real(Double(bitPattern: word()))
        case 4: .boolean(flag())
        case 5: .date(Double(bitPattern: word()))
        case 6: .date(Double(Int64(bitPattern: word()) >> 24))
        case 7: .data(bytes())
        case 8, 9: .array((0..<number(below: 8)).map { _ in value(depth: depth + 1) })
        default:
            .dictionary(
                (0..<number(below: 8)).reduce(into: [:]) { entries, _ in
                    let name = text()
                    entries[name] = value(depth: depth + 1)
                })
        }
    }

    mutating func payload() -> StoragePayload { flag() ? .native(value()) : .bytes(bytes()) }
}
