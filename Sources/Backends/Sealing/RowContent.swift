package import BackendContract

/// The decrypted content of a row: a name, metadata, and a payload or a tombstone, which is the record of a removal.
package struct RowContent: Sendable {
    package enum Kind: UInt8, Sendable {
        case value = 1
        case tombstone = 3
    }

    package var address: StorageAddress
    package var kind: Kind
    package var metadata: StorageMetadata
    package var payload: [UInt8] = []
    /// The revision of a row that was sealed again without another change. Nil for every other row; its revision is its
    /// nonce.
    package var keptRevision: StorageRevision?

    /// A flag in the first byte, beside the ``Kind``. It is set if ``keptRevision`` follows that byte.
    private static let keeps: UInt8 = 0x80

    /// Returns the length of the encoded content (4 bytes), the content, and zeros up to the next ``SizeClass``.
    package func padded() -> [UInt8] {
        var facts = ByteWriter()
        facts.bytes.reserveCapacity(512)
        RecordCodec.encodeMetadata(metadata, into: &facts)
        var writer = ByteWriter()
        // Reserve the exact size, because an array that grows leaves copies of the content behind.
        let kept = keptRevision?.bytes ?? []
        let length =
            1 + kept.count + 12 + address.namespace.name.utf8.count + address.name.utf8.count + facts.bytes.count + payload.count
        writer.bytes.reserveCapacity(SizeClass.padded(length + 4))
        writer.fixed(UInt32(length))
        writer.byte(kind.rawValue | (keptRevision == nil ? 0 : Self.keeps))
        writer.bytes.append(contentsOf: kept)
        writer.counted(address.namespace.name.utf8)
        writer.counted(address.name.utf8)
        writer.bytes.append(contentsOf: facts.bytes)
        writer.counted(payload)
        writer.bytes.append(contentsOf: repeatElement(0, count: SizeClass.padded(length + 4) - writer.bytes.count))
        return writer.bytes
    }

    package init(_ address: StorageAddress, _ kind: Kind, _ metadata: StorageMetadata, payload: [UInt8] = []) {
        (self.address, self.kind, self.metadata, self.payload) = (address, kind, metadata, payload)
    }

    /// Decodes the result of ``padded()``.
    package init(padded bytes: [UInt8]) throws(RecordDamage) {
        var length = ByteReader(bytes[...])
        let count = Int(try length.number(4))
        guard count <= bytes.count - 4, SizeClass.padded(count + 4) == bytes.count else {
            throw RecordDamage("has a length that does not match its size class")
        }
        guard bytes[(4 + count)...].allSatisfy({ $0 == 0 }) else { throw RecordDamage("is not filled up with zeros") }
        var reader = ByteReader(bytes[4..<(4 + count)])
        let first = try reader.byte()
        guard let kind = Kind(rawValue: first & ~Self.keeps) else { throw RecordDamage("is of an unknown kind") }
        let kept = first & Self.keeps == 0 ? nil : StorageRevision(try reader.take(XAES256GCM.nonceLength))
        let namespace = try reader.text()
        let address = StorageAddress(try reader.text(), in: StorageNamespace(namespace))
        let metadata = try RecordCodec.decodeMetadata(from: &reader)
        let payload = try reader.counted()
        guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
        guard kind == .value || payload.isEmpty else { throw RecordDamage("is a tombstone with a payload") }
        (self.address, self.kind, self.metadata, self.payload, keptRevision) = (address, kind, metadata, payload, kept)
    }
}
