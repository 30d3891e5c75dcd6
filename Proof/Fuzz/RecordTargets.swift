@testable import BackendContract

/// Fuzz targets for records in format 1 (``RecordCodec``), and for native values, which are the values of property
/// lists.
extension FuzzTarget {
    static let records: [FuzzTarget] = [
        FuzzTarget(name: "records", seeds: { RecordSeeds.framed }) { (bytes) throws(BrokenPromise) in try checkRecord(bytes) },
        FuzzTarget(name: "record-bodies", seeds: { RecordSeeds.framed.map { Array($0.dropFirst(4).dropLast(4)) } }) {
            (bytes) throws(BrokenPromise) in
            let framed = RecordSeeds.frame(bytes)
            let decoded = try checkRecord(framed)
            try promise(decoded != .foreign, "the magic was not seen")
            // A changed byte must never yield another record: a cyclic redundancy check finds every burst of up to 32
            // bits.
            guard decoded.state != nil else { return }
            let place = 4 + Int(bytes.reduce(7 as UInt32) { $0 &* 31 &+ UInt32($1) }) % (framed.count - 4)
            var changed = framed
            changed[place] ^= 0x40
            try promise(RecordCodec.decode(changed).state == nil, "a changed byte was not noticed")
        },
        FuzzTarget(name: "values", seeds: { RecordSeeds.values.map(\.canonicalBytes) }) { (bytes) throws(BrokenPromise) in
            let value = try steady(bytes) { Self.value(in: $0) }
            guard let value else { return }
            try promise(value.canonicalBytes == bytes, "there are two ways to write a value")
            try promise(!value.isNested(deeperThan: NativeValue.maximumDepth), "a value is nested deeper than may be written")
            let record = StorageRecord(payload: .native(value), revision: StorageRevision([1]))
            try promise(RecordCodec.decode(RecordCodec.encode(record)) == .record(record), "a value does not come back from a record")
        },
        FuzzTarget(name: "record-states", seeds: { RecordSeeds.dice }) { (bytes) throws(BrokenPromise) in
            var dice = Dice(bytes)
            let metadata = dice.metadata()
            let revision = dice.revision()
            let tombstone = StorageTombstone(metadata: metadata, revision: revision)
            let written = RecordCodec.encode(tombstone)
            try promise(try checkRecord(written).state == written, "a tombstone does not come back")
            let record = RecordCodec.encode(StorageRecord(payload: dice.payload(), metadata: metadata, revision: revision))
            try promise(try checkRecord(record).state == record, "a record does not come back")
        },
    ]

    private static func value(in bytes: [UInt8]) -> NativeValue? {
        var reader = ByteReader(bytes[...])
        guard let value = try? NativeValue.decode(from: &reader), reader.isAtEnd else { return nil }
        return value
    }

    /// Checks the promises for bytes that may be a record.
    @discardableResult
    static func checkRecord(_ bytes: [UInt8]) throws(BrokenPromise) -> RecordCodec.Decoded {
        let decoded = RecordCodec.decode(bytes)
        // Compare the bytes, because a time that is NaN is not equal to itself.
        _ = try steady(bytes) { (bytes) -> [UInt8] in
            let decoded = RecordCodec.decode(bytes)
            return decoded.state ?? Array("\(decoded)".utf8)
        }
        if let state = decoded.state { try promise(state == bytes, "there are two ways to write a record") }
        if case .damaged(let how) = decoded { try promise(how.utf8.count < 60, "a reason is too long to hold none of the content") }
        if case .unknownFormat(let format) = decoded { try promise(format != RecordCodec.format, "the known format is called unknown") }
        return decoded
    }
}

extension RecordCodec.Decoded {
    /// The bytes of the decoded record or tombstone, encoded again; nil if the result is neither of them.
    var state: [UInt8]? {
        switch self {
        case .record(let record): RecordCodec.encode(record)
        case .tombstone(let tombstone): RecordCodec.encode(tombstone)
        case .foreign, .damaged, .unknownFormat: nil
        }
    }
}

/// Records and values of every kind, as seeds of the targets.
enum RecordSeeds {
    static let values: [NativeValue] = [
        .string("\u{E9}t\u{E9}"), .integer(-2), .unsigned(.max), .real(0.1), .boolean(true), .date(0.25), .data([0, 255]), .array([]),
        .dictionary(["k": .boolean(false), "\u{1F511}": .array([.string(""), .real(.nan)])]),
        (0..<20).reduce(.array([])) { inner, _ in .array([inner]) },
    ]

    static let metadata = StorageMetadata(
        serializer: "json", typeTag: "String", schemaVersion: 3, origin: [1, 0, 255], sealing: "1:0011223344556677", createdAt: 1.5,
        modifiedAt: -0.0, expiresAt: .infinity, attributes: ["a": "b", "\u{E9}": ""])

    static let records: [StorageRecord] =
        [StorageRecord(payload: .bytes([1, 2, 3]), metadata: metadata, revision: StorageRevision([1, 2]))]
        + values.map { StorageRecord(payload: .native($0), revision: StorageRevision([9])) }

    static let tombstones: [StorageTombstone] = [
        StorageTombstone(revision: StorageRevision([])), StorageTombstone(metadata: metadata, revision: StorageRevision([7])),
    ]

    static let framed: [[UInt8]] = records.map(RecordCodec.encode) + tombstones.map(RecordCodec.encode)

    /// Inputs from which ``Dice`` makes metadata and payloads.
    static let dice: [[UInt8]] = [
        [], Array(0...255), Array((0...255).reversed()),
        [255, 4] + Array("json".utf8) + [1, 84] + Array(repeating: 3, count: 60) + Array("names \u{E9} and more".utf8),
        [0, 1, 1, 1, 10, 3, 2, 97, 98, 0, 3] + Array("abc".utf8) + [1, 99, 9, 2, 5, 1, 6, 1, 2, 3],
    ]

    /// Puts the magic before a record's body, and the correct checksum after it.
    static func frame(_ body: [UInt8]) -> [UInt8] {
        let bytes = Array("LDR".utf8) + [1] + body
        return bytes + withUnsafeBytes(of: checksum(bytes).bigEndian) { Array($0) }
    }

    /// CRC-32/ISO-HDLC, bit by bit, independent of the library's implementation.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0 as UInt32) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
    }
}
