/// Encodes the state of a slot (the location of one value) as one byte sequence with a checksum, for stores that keep
/// only bytes.
///
/// ```swift
/// let encoded = RecordCodec.encode(record)
/// switch RecordCodec.decode(encoded) {
/// case .record(let record): print(record)
/// case .tombstone: print("The value was removed.")
/// case .foreign: print("Another program wrote these bytes.")
/// case .damaged(let reason): print(reason)
/// case .unknownFormat(let number): print("Update the program: format \(number).")
/// }
/// ```
///
/// This is record format 1. Integers are big-endian:
///
/// ```
/// "LDR" 01                              magic and format
/// kind                                  1 byte: 1 bytes, 2 native value, 3 tombstone
/// revision                              4-byte length, bytes
/// metadata                              number of fields (1 byte), then each field, tags ascending: tag (1 byte), 4-byte length, bytes
/// payload                               4-byte length, bytes (empty for a tombstone)
/// checksum                              CRC-32 (ISO-HDLC, as in zlib) over everything before it
/// ```
///
/// The encoding is canonical: encoding a decoded record returns the same bytes.
/// The checksum detects damage, not forgery: anyone who can write to the store can write a valid record.
public enum RecordCodec {
    /// The result of decoding bytes.
    public enum Decoded: Hashable, Sendable {
        /// A value.
        case record(StorageRecord)
        /// A tombstone, the record of a removal.
        case tombstone(StorageTombstone)
        /// Bytes that do not begin with "LDR", so another program wrote them.
        case foreign
        /// A damaged record. The text describes the damage.
        case damaged(String)
        /// A record in another format version, usually a later one. It must not be changed.
        case unknownFormat(UInt8)
    }

    static let magic: [UInt8] = Array("LDR".utf8)
    static let format: UInt8 = 1

    /// Encodes a record.
    public static func encode(_ record: StorageRecord) -> [UInt8] {
        switch record.payload {
        case .bytes(let bytes): frame(kind: 1, record.revision, record.metadata, payload: bytes)
        case .native(let value): frame(kind: 2, record.revision, record.metadata, payload: value.canonicalBytes)
        }
    }

    /// Encodes a tombstone.
    public static func encode(_ tombstone: StorageTombstone) -> [UInt8] {
        frame(kind: 3, tombstone.revision, tombstone.metadata, payload: [])
    }

    /// Decodes bytes that may be a record or a tombstone.
    ///
    /// ```swift
    /// let encoded = RecordCodec.encode(record)
    /// switch RecordCodec.decode(encoded) {
    /// case .record(let record): print(record)
    /// case .tombstone: print("The value was removed.")
    /// case .foreign: print("Another program wrote these bytes.")
    /// case .damaged(let reason): print(reason)
    /// case .unknownFormat(let number): print("Update the program: format \(number).")
    /// }
    /// ```
    public static func decode(_ bytes: [UInt8]) -> Decoded {
        guard bytes.starts(with: magic), bytes.count > magic.count else { return .foreign }
        let version = bytes[magic.count]
        guard version == format else { return .unknownFormat(version) }
        guard bytes.count >= magic.count + 1 + 4 else { return .damaged("ends too early") }
        let body = bytes[..<(bytes.count - 4)]
        var tail = ByteReader(bytes[(bytes.count - 4)...])
        do throws(RecordDamage) {
            guard try tail.fixed(UInt32.self) == CRC32.checksum(body) else { return .damaged("the checksum does not match") }
            return try decodeBody(body.dropFirst(magic.count + 1))
        } catch {
            return .damaged(error.reason)
        }
    }

    private static func decodeBody(_ body: ArraySlice<UInt8>) throws(RecordDamage) -> Decoded {
        var reader = ByteReader(body)
        let kind = try reader.byte()
        let revision = StorageRevision(try reader.counted())
        let metadata = try decodeMetadata(from: &reader)
        let payload = try reader.counted()
        guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
        switch kind {
        case 1: return .record(StorageRecord(payload: .bytes(payload), metadata: metadata, revision: revision))
        case 2:
            var inner = ByteReader(payload[...])
            let value = try NativeValue.decode(from: &inner)
            guard inner.isAtEnd else { throw RecordDamage("has bytes after its value") }
            return .record(StorageRecord(payload: .native(value), metadata: metadata, revision: revision))
        case 3:
            guard payload.isEmpty else { throw RecordDamage("is a tombstone with a payload") }
            return .tombstone(StorageTombstone(metadata: metadata, revision: revision))
        default: throw RecordDamage("unknown kind of record")
        }
    }

    private static func frame(kind: UInt8, _ revision: StorageRevision, _ metadata: StorageMetadata, payload: [UInt8]) -> [UInt8] {
        var head = ByteWriter()
        head.bytes = magic + [format, kind]
        head.counted(revision.bytes)
        encodeMetadata(metadata, into: &head)
        // Reserve the full capacity, because the payload may be an encryption key. An array that grows leaves copies of
        // its content in memory.
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(head.bytes.count + payload.count + 8)
        writer.bytes += head.bytes
        writer.counted(payload)
        let checksum = CRC32.checksum(writer.bytes[...])
        writer.fixed(checksum)
        return writer.bytes
    }
}

extension RecordCodec {
    /// Encodes only the metadata part of record format 1.
    ///
    /// ```swift
    /// let bytes = RecordCodec.encodeMetadata(StorageMetadata(serializer: "json"))
    /// print(bytes.count)  // the metadata part of a record, for a format that stores the payload separately
    /// ```
    public static func encodeMetadata(_ metadata: StorageMetadata) -> [UInt8] {
        var writer = ByteWriter()
        encodeMetadata(metadata, into: &writer)
        return writer.bytes
    }

    /// Appends the metadata part of record format 1.
    package static func encodeMetadata(_ metadata: StorageMetadata, into writer: inout ByteWriter) {
        let start = writer.bytes.count
        writer.byte(0)
        func begin(_ tag: UInt8) {
            writer.bytes[start] += 1
            writer.byte(tag)
        }
        func add(_ tag: UInt8, _ text: String?) {
            guard let text else { return }
            begin(tag)
            writer.counted(text.utf8)
        }
        func add(_ tag: UInt8, _ bits: UInt64?) {
            guard let bits else { return }
            begin(tag)
            writer.fixed(UInt32(8))
            writer.fixed(bits)
        }
        add(1, metadata.serializer)
        add(2, metadata.typeTag)
        add(3, metadata.schemaVersion.map { UInt64(bitPattern: Int64($0)) })
        if let origin = metadata.origin {
            begin(4)
            writer.counted(origin)
        }
        add(5, metadata.sealing)
        add(6, metadata.createdAt?.bitPattern)
        add(7, metadata.modifiedAt?.bitPattern)
        add(8, metadata.expiresAt?.bitPattern)
        if !metadata.attributes.isEmpty {
            begin(9)
            writer.counted(NativeValue.dictionary(metadata.attributes.mapValues(NativeValue.string)).canonicalBytes)
        }
        if !metadata.indexesAttributes {
            begin(10)
            writer.counted([])
        }
    }

    /// Decodes the metadata part of record format 1.
    package static func decodeMetadata(from reader: inout ByteReader) throws(RecordDamage) -> StorageMetadata {
        // Every change of metadata costs more than a change of its fields.
        var fields = StorageMetadata.Fields()
        var lastTag: UInt8 = 0
        for _ in 0..<(try reader.byte()) {
            let tag = try reader.byte()
            guard tag > lastTag else { throw RecordDamage("has metadata out of order") }
            lastTag = tag
            switch tag {
            case 1: fields.serializer = try reader.text()
            case 2: fields.typeTag = try reader.text()
            case 3: fields.schemaVersion = Int(try reader.countedNumber(Int64.self))
            case 4: fields.origin = try reader.counted()
            case 5: fields.sealing = try reader.text()
            case 6: fields.createdAt = Double(bitPattern: try reader.countedNumber(UInt64.self))
            case 7: fields.modifiedAt = Double(bitPattern: try reader.countedNumber(UInt64.self))
            case 8: fields.expiresAt = Double(bitPattern: try reader.countedNumber(UInt64.self))
            case 9:
                var inner = ByteReader(try reader.counted()[...])
                guard case .dictionary(let entries) = try NativeValue.decode(from: &inner), inner.isAtEnd, !entries.isEmpty else {
                    throw RecordDamage("has unreadable attributes")
                }
                for (name, value) in entries {
                    guard case .string(let text) = value else { throw RecordDamage("has an attribute that is not text") }
                    fields.attributes[name] = text
                }
            case 10:
                guard try reader.counted().isEmpty else { throw RecordDamage("has a mark with a content") }
                fields.indexesAttributes = false
            default: throw RecordDamage("has metadata of an unknown kind")
            }
        }
        return StorageMetadata(fields)
    }
}

/// The cyclic redundancy check of zlib and Ethernet: CRC-32/ISO-HDLC, reflected polynomial 0xEDB88320, check value 0xCBF43926.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? (value >> 1) ^ 0xEDB8_8320 : value >> 1 }
    }

    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(~0 as UInt32) { ($0 >> 8) ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
    }
}
