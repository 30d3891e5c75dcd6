import BackendContract
import TestSupport
import Testing

/// Tests of record format 1. The bytes below were assembled by hand from its description, with zlib's CRC-32.
/// Bytes are foreign if they do not begin like a record of any format.
@Suite(.inTurn) struct RecordCodecTests {
    static let record = StorageRecord(
        payload: .bytes(Array("hi".utf8)),
        metadata: StorageMetadata(
            serializer: "json", typeTag: "T", schemaVersion: -3, origin: [0, 255], sealing: "gcm", createdAt: 1.5, modifiedAt: 2.5,
            expiresAt: -0.0,
            attributes: ["\u{E9}": "", "a": "b"]), revision: StorageRevision([1, 2]))

    static let recordBytes = bytes(
        inGroups: """
            4c4452 01 01 00000002 0102 09
            01 00000004 6a736f6e
            02 00000001 54
            03 00000008 fffffffffffffffd
            04 00000002 00ff
            05 00000003 67636d
            06 00000008 3ff8000000000000
            07 00000008 4004000000000000
            08 00000008 8000000000000000
            09 0000001b 09 00000002 00000001 61 01 00000001 62 00000002 c3a9 01 00000000
            00000002 6869
            c8066f20
            """)

    static let tombstone = StorageTombstone(metadata: StorageMetadata(origin: []), revision: StorageRevision([7]))
    static let tombstoneBytes = bytes(inGroups: "4c4452 01 03 00000001 07 01 04 00000000 00000000 725fbc2e")

    static let native = StorageRecord(
        payload: .native(
            .array([
                .string("\u{E9}"), .integer(-2), .unsigned(.max), .real(0.1), .boolean(true), .date(0.25), .data([0]), .array([]),
                .dictionary(["k": .boolean(false)]),
            ])), revision: StorageRevision([]))
    static let nativeBytes = RecordCodec.encode(native)

    static let samples = [recordBytes, tombstoneBytes, nativeBytes]

    @Test func `records and tombstones encode to the bytes in this file and decode from them`() {
        #expect(RecordCodec.encode(Self.record) == Self.recordBytes)
        #expect(RecordCodec.decode(Self.recordBytes) == .record(Self.record))
        #expect(RecordCodec.encode(Self.tombstone) == Self.tombstoneBytes)
        #expect(RecordCodec.decode(Self.tombstoneBytes) == .tombstone(Self.tombstone))
        #expect(RecordCodec.decode(Self.nativeBytes) == .record(Self.native))
        #expect(Array(Self.nativeBytes.suffix(4)) == bytes(inGroups: "296d19f2"))
    }

    @Test func `a record with an empty payload and an empty revision is read back`() {
        let empty = StorageRecord(payload: .bytes([]), revision: StorageRevision([]))
        #expect(RecordCodec.decode(RecordCodec.encode(empty)) == .record(empty))
    }

    @Test(arguments: samples)
    func `a record with one changed byte is never another record`(_ whole: [UInt8]) {
        for index in whole.indices {
            for change in 1...255 {
                var bytes = whole
                bytes[index] ^= UInt8(change)
                switch RecordCodec.decode(bytes) {
                case .foreign: #expect(index < 3)
                case .unknownFormat(let format): #expect(index == 3 && format == bytes[3])
                case .damaged: #expect(index > 3)
                case .record, .tombstone: Issue.record("byte \(index) changed by \(change) went unnoticed")
                }
            }
        }
    }

    @Test(arguments: samples)
    func `a truncated or extended record is damaged, or foreign if at most three bytes remain`(_ whole: [UInt8]) {
        for length in whole.indices {
            let decoded = RecordCodec.decode(Array(whole[..<length]))
            if length <= 3 {
                #expect(decoded == .foreign)
            } else if case .damaged = decoded {
                continue
            } else {
                Issue.record("cut at \(length): \(decoded)")
            }
        }
        for extra in 0...255 {
            if case .damaged = RecordCodec.decode(whole + [UInt8(extra)]) { continue } else { Issue.record("continued by \(extra)") }
        }
        if case .damaged = RecordCodec.decode(whole + whole) { return } else { Issue.record("twice") }
    }

    @Test func `bytes of a later format are reported as that format, not as damage`() {
        #expect(RecordCodec.decode(Array("LDR".utf8) + [2]) == .unknownFormat(2))
        #expect(RecordCodec.decode(Array("LDR".utf8) + [2, 1, 2, 3]) == .unknownFormat(2))
    }

    @Test func `random bytes are never a record`() {
        var generator = SeededGenerator(1)
        for round in 0..<20_000 {
            let prefix: [UInt8] = round.isMultiple(of: 2) ? [] : Array("LDR".utf8) + [1]
            let bytes = prefix + (0..<Int.random(in: 0..<80, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            switch RecordCodec.decode(bytes) {
            case .record, .tombstone: Issue.record("round \(round) is a record")
            case .foreign, .damaged, .unknownFormat: continue
            }
        }
    }

    @Test func `changed bytes with a valid checksum are accepted only if the decoded record encodes to exactly these bytes`() {
        var generator = SeededGenerator(2)
        var accepted = 0
        for round in 0..<30_000 {
            var body = Array(Self.samples[round % 3].dropLast(4))
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 4..<body.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: body[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: body[index] = UInt8.random(in: 0...9, using: &generator)
                case 2: body.insert(UInt8.random(in: 0...9, using: &generator), at: index)
                default: body.remove(at: index)
                }
            }
            accepted += expectCanonical(body) ? 1 : 0
        }
        #expect(accepted > 1_000, "too few of the changed records are records for the test to mean much")
    }

    @Test(arguments: [
        // A Boolean that is neither 0 nor 1.
        "4c445201 02 00000000 00 00000002 05 02",
        // Dictionary keys in the wrong order; a duplicate key;
        // two Unicode spellings of one key, which a Swift dictionary cannot hold both.
        "4c445201 02 00000000 00 00000013 09 00000002 00000001 62 05 00 00000001 61 05 00",
        "4c445201 02 00000000 00 00000013 09 00000002 00000001 61 05 00 00000001 61 05 01",
        "4c445201 02 00000000 00 00000016 09 00000002 00000003 65cc81 05 00 00000002 c3a9 05 00",
        // A schema version of 9 bytes; attributes that are empty, have trailing bytes, or are not texts.
        "4c445201 01 00000000 01 03 00000009 000000000000000000 00000000",
        "4c445201 01 00000000 01 09 00000005 09 00000000 00000000",
        "4c445201 01 00000000 01 09 0000000c 09 00000001 00000001 61 05 00 00000000",
        "4c445201 01 00000000 01 09 00000010 09 00000001 00000001 61 01 00000000 ff 00000000",
        // A tombstone with a payload.
        "4c445201 03 00000000 00 00000001 ff",
    ])
    func `bytes that no encoder writes are damaged, even with a valid checksum`(_ hex: String) {
        let body = bytes(inGroups: hex)
        if case .damaged = RecordCodec.decode(body + checksum(body)) { return }
        Issue.record("taken for \(RecordCodec.decode(body + checksum(body)))")
    }

    /// Returns whether a body with a valid checksum is a record.
    /// If it is, encoding the record must give the same bytes.
    private func expectCanonical(_ body: [UInt8]) -> Bool {
        let bytes = body + checksum(body)
        switch RecordCodec.decode(bytes) {
        case .record(let record):
            #expect(RecordCodec.encode(record) == bytes)
            return true
        case .tombstone(let tombstone):
            #expect(RecordCodec.encode(tombstone) == bytes)
            return true
        case .foreign, .damaged, .unknownFormat: return false
        }
    }

    /// Computes CRC-32 (ISO-HDLC) bit by bit.
    private func checksum(_ bytes: [UInt8]) -> [UInt8] {
        var remainder: UInt32 = .max
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? (remainder >> 1) ^ 0xEDB8_8320 : remainder >> 1 }
        }
        return withUnsafeBytes(of: (~remainder).bigEndian) { Array($0) }
    }
}

/// Decodes hexadecimal digits that are written in groups, separated by white space.
func bytes(inGroups digits: String) -> [UInt8] { bytes(ofHexadecimal: digits.filter { !$0.isWhitespace }) ?? [] }
