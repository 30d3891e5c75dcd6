#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
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
        /// The revision of a row that was sealed again and is otherwise unchanged; nil for one whose revision is its nonce.
        var keptRevision: StorageRevision?

        /// Set in the byte of the kind: the kept revision follows.
        private static let keeps: UInt8 = 0x80

        /// The content, after its length and before the zeros that fill its size class.
        func padded() -> [UInt8] {
            var facts = ByteWriter()
            RecordCodec.encodeMetadata(metadata, into: &facts)
            var writer = ByteWriter()
            // Exactly as much as is needed: a buffer that grows leaves copies behind.
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
            let first = try reader.byte()
            guard let kind = Kind(rawValue: first & ~Self.keeps) else { throw RecordDamage("is of an unknown kind") }
            if first & Self.keeps != 0 { keptRevision = StorageRevision(try reader.take(XAES256GCM.nonceLength)) }
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

        /// As much as a row of the smallest size class has.
        static let minimumLength = overhead + SizeClass.padded(1)

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

        /// The revision of a state that was just written: its nonce, which no other state ever has.
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

    /// A row as it was read, not yet authenticated. Its bytes are SQLite's own, and valid only until the statement is stepped or reset.
    struct RawRow {
        /// Nil where the column holds no bytes.
        let slot: UnsafeRawBufferPointer?
        let version: Int64?
        let sealed: UnsafeRawBufferPointer?

        /// Takes a row that is in memory.
        init(slot: UnsafeRawBufferPointer, version: Int64, sealed: UnsafeRawBufferPointer) {
            (self.slot, self.version, self.sealed) = (slot, version, sealed)
        }

        /// Takes three columns of a statement's row, from a number on.
        init(_ statement: Statement, firstColumn: Int32) {
            func bytes(_ column: Int32) -> UnsafeRawBufferPointer? { statement.kind(column) == .blob ? statement.blob(column) : nil }
            slot = bytes(firstColumn)
            version = statement.kind(firstColumn + 1) == .integer ? statement.integer(firstColumn + 1) : nil
            sealed = bytes(firstColumn + 2)
        }

        /// The result of an attempt to open the row.
        enum Opened {
            case content(RowContent, StorageRevision)
            /// The row is not what was written.
            case damaged(StorageCorruption)
            /// Sealed by a key that has been destroyed: its content is lost.
            case destroyed
            /// The row names a format or a key that the keyset does not permit. That is damage if the keyset is that of the row's own
            /// transaction; otherwise another process may have changed the keyset.
            case stranger(StorageCorruption)
            /// Of a format that the header permits, and this version does not know: not to be touched.
            case refused(BackendError)
        }

        /// Opens the row. Nothing in it is trusted before the tag is checked.
        func open(_ keyset: Keyset) -> Opened {
            guard let slot, slot.count == DataKey.slotLength, let version, version > 0, let sealed else {
                return damaged("is not a row of this format")
            }
            guard let format = sealed.first else { return damaged("is empty") }
            guard format == SealedRow.format else {
                guard keyset.formats.contains(format) else {
                    return .stranger(corruption("names a format that the database does not have"))
                }
                return .refused(
                    BackendError(
                        .unsupported,
                        "The row has format \(format); this version of the library knows format \(SealedRow.format). Update the program."))
            }
            guard sealed.count >= SealedRow.minimumLength else { return damaged("ends too early") }
            let id = UnsafeRawBufferPointer(rebasing: sealed[1..<SealedRow.headLength])
            guard let key = keyset.key(id) else {
                return keyset.destroyed.contains(Array(id))
                    ? .destroyed : .stranger(corruption("names a key that the database does not have"))
            }
            do throws(BackendError) {
                let context = SealedRow.context(database: keyset.database, slot: slot, version: version, key: id)
                var plain = try key.sealing.open(
                    nonceAndSealed: UnsafeRawBufferPointer(rebasing: sealed[SealedRow.headLength...]), authenticating: context)
                defer { wipe(&plain) }
                do throws(RecordDamage) {
                    let content = try RowContent(padded: plain)
                    return .content(content, content.keptRevision ?? SealedRow.revision(of: sealed))
                } catch {
                    return damaged("\(error.reason), though its seal is whole")
                }
            } catch {
                return damaged("was changed, cut off or brought here from another place")
            }
        }

        /// The key that the row names, if the keyset has it.
        func key(_ keyset: Keyset) -> DataKey? {
            guard let sealed, sealed.count >= SealedRow.headLength else { return nil }
            return keyset.key(UnsafeRawBufferPointer(rebasing: sealed[1..<SealedRow.headLength]))
        }

        /// The row's bytes, and a revision of them: a caller may keep the bytes, or replace the row on the condition that it is unchanged.
        func corruption(_ how: String) -> StorageCorruption {
            let bytes = Array(sealed ?? UnsafeRawBufferPointer(start: nil, count: 0))
            var digest = SHA256()
            for part in [slot, sealed] {
                withUnsafeBytes(of: Int64(part?.count ?? -1)) { digest.update(bufferPointer: $0) }
                if let part { digest.update(bufferPointer: part) }
            }
            withUnsafeBytes(of: version ?? -1) { digest.update(bufferPointer: $0) }
            return StorageCorruption(bytes: bytes, revision: StorageRevision(Array(digest.finalize())), reason: "the row \(how)")
        }

        private func damaged(_ how: String) -> Opened { .damaged(corruption(how)) }
    }
#endif
