#if SQLite
    import BackendContract
    import Sealing

    /// A row's content, decrypted: a name, metadata, and a payload or the mark of a removal.
    struct RowContent {
        enum Kind: UInt8 {
            case value = 1
            case tombstone = 3
        }

        var address: StorageAddress
        var kind: Kind
        var metadata: StorageMetadata
        var payload: [UInt8] = []

        /// The content, after its length and before the zeros that fill its size class.
        func padded() -> [UInt8] {
            var facts = ByteWriter()
            RecordCodec.encodeMetadata(metadata, into: &facts)
            var writer = ByteWriter()
            // Exactly as much as is needed: a buffer that grows leaves copies behind.
            let length = 1 + 12 + address.namespace.name.utf8.count + address.name.utf8.count + facts.bytes.count + payload.count
            writer.bytes.reserveCapacity(SizeClass.padded(length + 4))
            writer.fixed(UInt32(length))
            writer.byte(kind.rawValue)
            writer.counted(address.namespace.name.utf8)
            writer.counted(address.name.utf8)
            writer.bytes.append(contentsOf: facts.bytes)
            writer.counted(payload)
            writer.bytes.append(contentsOf: repeatElement(0, count: SizeClass.padded(length + 4) - writer.bytes.count))
            return writer.bytes
        }

        init(_ address: StorageAddress, _ kind: Kind, _ metadata: StorageMetadata, payload: [UInt8] = []) {
            (self.address, self.kind, self.metadata, self.payload) = (address, kind, metadata, payload)
        }

        /// Reads what ``padded()`` made.
        init(padded bytes: [UInt8]) throws(RecordDamage) {
            var length = ByteReader(bytes[...])
            let count = Int(try length.fixed(UInt32.self))
            guard count <= bytes.count - 4, SizeClass.padded(count + 4) == bytes.count else { throw RecordDamage("has no size class") }
            guard bytes[(4 + count)...].allSatisfy({ $0 == 0 }) else { throw RecordDamage("is not filled up with zeros") }
            var reader = ByteReader(bytes[4..<(4 + count)])
            guard let kind = Kind(rawValue: try reader.byte()) else { throw RecordDamage("is of an unknown kind") }
            let namespace = try reader.text()
            address = StorageAddress(try reader.text(), in: StorageNamespace(namespace))
            self.kind = kind
            metadata = try RecordCodec.decodeMetadata(from: &reader)
            payload = try reader.counted()
            guard reader.isAtEnd else { throw RecordDamage("has bytes after its end") }
            guard kind == .value || payload.isEmpty else { throw RecordDamage("is a tombstone with a payload") }
        }
    }

    /// The sealed part of a row: `01`, the id of the data key, nonce, ciphertext, tag.
    enum SealedRow {
        static let format: UInt8 = 1
        /// The bytes before the nonce.
        static let headLength = 1 + SealingKey.idLength
        static let overhead = headLength + XAES256GCM.nonceLength + XAES256GCM.tagLength

        /// More than any row has: the largest value with its names and metadata.
        static let maximumLength = 24 << 20

        /// Seals a content for its row.
        static func seal(
            _ content: RowContent, slot: [UInt8], version: Int64, with key: DataKey, database: [UInt8], _ randomBytes: (Int) -> [UInt8]
        ) throws(BackendError) -> [UInt8] {
            var plain = content.padded()
            defer { wipe(&plain) }
            let nonce = randomBytes(XAES256GCM.nonceLength)
            let context = slot.withUnsafeBytes { slot in
                key.id.withUnsafeBytes { Self.context(database: database, slot: slot, version: version, key: $0) }
            }
            return [format] + key.id + nonce + (try key.sealing.seal(plain, nonce: nonce, authenticating: context))
        }

        /// The revision of a sealed state: its nonce, which no other state ever has.
        static func revision(of sealed: some RandomAccessCollection<UInt8>) -> StorageRevision {
            StorageRevision(Array(sealed.dropFirst(headLength).prefix(XAES256GCM.nonceLength)))
        }

        static func context(database: [UInt8], slot: UnsafeRawBufferPointer, version: Int64, key: UnsafeRawBufferPointer) -> [UInt8] {
            var fields = Fields("LocalData SQLite 1 record")
            fields.add(database)
            fields.add(DatabaseFormat.table)
            fields.add(slot)
            fields.add(version)
            fields.add(key)
            return fields.bytes
        }
    }
#endif
