import BackendContract
import TestSupport
import Testing

/// Property-based tests of record format 1 and of canonical bytes, for every kind of content of a slot.
/// Canonical bytes are an encoding of a native value that only equal values share.
@Suite(.inTurn, .tags(.campaign)) struct RecordCodecLawTests {
    private let records = Arbitrary<StorageRecord>.record
    private let values = Arbitrary<NativeValue>.any(of: [.native(), .nested(0...63)])
    private let tombstones = zip(Arbitrary<StorageMetadata>.metadata, Arbitrary<[UInt8]>.bytes(0...24)).map {
        StorageTombstone(metadata: $0, revision: StorageRevision($1))
    }

    /// Decodes bytes and encodes the result, or returns `nil` if decoding refuses them.
    private func writtenAgain(_ bytes: [UInt8]) -> [UInt8]? {
        switch RecordCodec.decode(bytes) {
        case .record(let record): RecordCodec.encode(record)
        case .tombstone(let tombstone): RecordCodec.encode(tombstone)
        case .foreign, .damaged, .unknownFormat: nil
        }
    }

    /// The fields of metadata as bytes, to compare them exactly: NaN equals itself, 0 differs from -0,
    /// and two Unicode spellings of one text differ.
    private func bits(_ metadata: StorageMetadata) -> [[UInt8]?] {
        func bytes(_ text: String?) -> [UInt8]? { text.map { Array($0.utf8) } }
        func bytes(_ number: Double?) -> [UInt8]? { number.map { withUnsafeBytes(of: $0.bitPattern) { Array($0) } } }
        return [
            bytes(metadata.serializer), bytes(metadata.typeTag), bytes(metadata.schemaVersion.map { "\($0)" }), metadata.origin,
            bytes(metadata.sealing), bytes(metadata.createdAt), bytes(metadata.modifiedAt), bytes(metadata.expiresAt),
        ] + metadata.attributes.map { Array($0.key.utf8) + [0xFF] + Array($0.value.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    @Test func `every record is read back with every bit of its fields`() async {
        await forAll(records, count: 600, spelling: \.spelledOut) { record in
            guard case .record(let read) = RecordCodec.decode(RecordCodec.encode(record)) else { throw Broken("it is not read back") }
            try same(spelling(read.payload), spelling(record.payload), "the payload")
            try same(read.revision, record.revision, "the revision")
            try hold(bits(read.metadata) == bits(record.metadata), "the metadata is \(read.metadata)")
        }
    }

    @Test func `every tombstone is read back unchanged`() async {
        await forAll(tombstones, count: 150) { tombstone in
            guard case .tombstone(let read) = RecordCodec.decode(RecordCodec.encode(tombstone)) else { throw Broken("it is not read back") }
            try same(read.revision, tombstone.revision, "the revision")
            try hold(bits(read.metadata) == bits(tombstone.metadata), "the metadata is \(read.metadata)")
        }
    }

    @Test func `a native value with up to 64 nested levels is read back unchanged`() async {
        await forAll(values, count: 600, spelling: spelling) { value in
            let record = StorageRecord(payload: .native(value), revision: StorageRevision([]))
            guard case .record(let read) = RecordCodec.decode(RecordCodec.encode(record)) else { throw Broken("it is not read back") }
            try same(spelling(read.payload), spelling(value), "the value")
        }
    }

    @Test func `two values have the same canonical bytes only if they are identical`() async {
        // The second value is often the first with one part changed. An ambiguous encoding would confuse such pairs.
        let near = Arbitrary<NativeValue>.any(of: [.scalar, values]).flatMap { value in
            zip(.always(value), .any(of: [.one(of: neighbours(of: value)), .one(of: neighbours(of: value)), values]))
        }
        await forAll(near, count: 1_000, spelling: { "\(spelling($0)) and \(spelling($1))" }) { left, right in
            try same(left.canonicalBytes == right.canonicalBytes, spelling(left) == spelling(right), "whether \(left) is \(right)")
        }
    }

    @Test func `two different records have different bytes`() async {
        await forAll(zip(records, records), count: 300, spelling: { "\($0.spelledOut) and \($1.spelledOut)" }) { left, right in
            let isSame =
                left.payload.canonicalBytes == right.payload.canonicalBytes && left.revision == right.revision
                && bits(left.metadata) == bits(right.metadata) && kind(left) == kind(right)
            try same(RecordCodec.encode(left) == RecordCodec.encode(right), isSame, "whether the bytes are the same")
        }
    }

    @Test func `a record with a changed, missing or extra byte is refused`()
        async
    {
        let change = zip(records.limited(to: 12), Arbitrary<UInt8>.number(in: 1...255))
        await forAll(change, count: 40, spelling: { "\($0.spelledOut), changed by \($1)" }) { record, change in
            let whole = RecordCodec.encode(record)
            for index in whole.indices {
                var bytes = whole
                bytes[index] ^= change
                if let again = writtenAgain(bytes) { try hold(again == bytes, "byte \(index) changed by \(change) is taken for a record") }
                // A changed byte is never accepted: CRC-32 detects every change of one byte.
                try hold(writtenAgain(bytes) == nil, "byte \(index) changed by \(change) goes unnoticed")
                try hold(writtenAgain(Array(whole[..<index])) == nil, "the first \(index) bytes are taken for a record")
            }
            try hold(writtenAgain(whole + [change]) == nil, "a byte too many goes unnoticed")
        }
    }

    @Test func `changed bytes with a corrected checksum are refused, or decode to a record that encodes to exactly these bytes`() async {
        // The checksum is corrected, so that only the rest of the format decides.
        let change = zip(records.limited(to: 12), Arbitrary<UInt8>.number(in: 1...255))
        await forAll(change, count: 40, spelling: { "\($0.spelledOut), changed by \($1)" }) { record, change in
            let whole = RecordCodec.encode(record).dropLast(4)
            for index in whole.indices.dropFirst(4) {
                var body = Array(whole)
                body[index] ^= change
                var sum = ~0 as UInt32
                for byte in body {
                    sum ^= UInt32(byte)
                    for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
                }
                let bytes = body + withUnsafeBytes(of: (~sum).bigEndian) { Array($0) }
                if let again = writtenAgain(bytes) {
                    try hold(again == bytes, "byte \(index) changed by \(change): another way to write a record")
                }
            }
        }
    }

    @Test func `bytes of a later format are reported with the number of the format and never read as a record`() async {
        await forAll(zip(records, Arbitrary<UInt8>.number(in: 2...255), Arbitrary<[UInt8]>.bytes()), count: 200) { record, format, rest in
            var bytes = RecordCodec.encode(record)
            bytes[3] = format
            try same(RecordCodec.decode(bytes), .unknownFormat(format), "the same bytes in format \(format)")
            try same(RecordCodec.decode(Array(bytes[..<4]) + rest), .unknownFormat(format), "other bytes in format \(format)")
        }
    }

    private func kind(_ record: StorageRecord) -> Int { if case .bytes = record.payload { 1 } else { 2 } }

    private func spelling(_ payload: StoragePayload) -> String {
        switch payload {
        case .bytes(let bytes): "\(bytes)"
        case .native(let value): spelling(value)
        }
    }

    /// Writes out a value without using canonical bytes.
    private func spelling(_ value: NativeValue) -> String {
        func scalars(_ text: String) -> String { text.unicodeScalars.map { String($0.value) }.joined(separator: ",") }
        switch value {
        case .string(let text): return "s(\(scalars(text)))"
        case .integer(let number): return "i(\(number))"
        case .unsigned(let number): return "u(\(number))"
        case .real(let number): return "r(\(number.bitPattern))"
        case .boolean(let flag): return "b(\(flag))"
        case .date(let number): return "t(\(number.bitPattern))"
        case .data(let bytes): return "d(\(bytes))"
        case .array(let elements): return "a(\(elements.map(spelling).joined(separator: ";")))"
        case .dictionary(let entries):
            return "m(\(entries.map { "(\(scalars($0.key)))=\(spelling($0.value))" }.sorted().joined(separator: ";")))"
        }
    }

    /// Returns the value itself, and values that differ from it in one respect.
    private func neighbours(of value: NativeValue) -> [NativeValue] {
        switch value {
        case .string(let text):
            [value, .data(Array(text.utf8)), .string(text + "\u{301}"), .string(String(text.unicodeScalars.dropLast()))]
        case .integer(let number):
            [value, .integer(number ^ 1), .unsigned(UInt64(bitPattern: number)), .date(Double(bitPattern: UInt64(bitPattern: number)))]
        case .unsigned(let number): [value, .unsigned(number ^ 1), .integer(Int64(bitPattern: number)), .real(Double(bitPattern: number))]
        case .real(let number): [value, .real(-number), .date(number), .real(number + 0), .unsigned(number.bitPattern)]
        case .boolean(let flag): [value, .boolean(!flag), .data([flag ? 1 : 0])]
        case .date(let number): [value, .date(-number), .real(number)]
        case .data(let bytes): [value, .data(bytes + [0]), .array([.data(bytes)]), .data(bytes.reversed())]
        case .array(let elements):
            [value, .array(elements + [.array([])]), .array(elements.reversed()), .array([value]), .array(Array(elements.dropLast()))]
        case .dictionary(let entries):
            [
                value, .dictionary(entries.mapValues { .array([$0]) }), .array(Array(entries.values)),
                .dictionary(entries.merging(["x": value]) { $1 }),
            ]
        }
    }
}

extension RecordCodecLawTests {
    @Test func `a value nested deeper than 64 levels is refused when it is read`() async {
        await forAll(Arbitrary<NativeValue>.nested(64...80), count: 50) { value in
            let bytes = RecordCodec.encode(StorageRecord(payload: .native(value), revision: StorageRevision([])))
            guard case .damaged = RecordCodec.decode(bytes) else { throw Broken("it is read") }
        }
    }
}
