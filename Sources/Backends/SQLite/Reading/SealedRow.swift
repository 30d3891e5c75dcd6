#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
    import Sealing

    /// The encrypted part of a row: the format `01`, the id of the data key, the nonce, the ciphertext and the tag.
    enum SealedRow {
        static let format: UInt8 = 1
        /// The number of bytes before the nonce.
        static let headLength = 1 + SealingKey.idLength
        static let overhead = headLength + XAES256GCM.nonceLength + XAES256GCM.tagLength

        /// The length of a row of the smallest size class. Contents are padded to size classes.
        static let minimumLength = overhead + SizeClass.padded(1)

        /// An upper limit for the length of a row. It is larger than the largest value with its name and metadata.
        static let maximumLength = 24 << 20

        /// Encrypts the content of a row.
        static func seal(
            _ content: RowContent, slot: [UInt8], version: Int64, with key: DataKey, _ randomBytes: (Int) -> [UInt8]
        ) throws(BackendError) -> [UInt8] {
            var plain = content.padded()
            defer { wipe(&plain) }
            let nonce = randomBytes(XAES256GCM.nonceLength)
            let context = slot.withUnsafeBytes { Self.context(slot: $0, version: version, key: key) }
            let sealed = try key.sealing.seal(plain, nonce: nonce, authenticating: context)
            var row: [UInt8] = []
            row.reserveCapacity(headLength + nonce.count + sealed.count)
            row.append(format)
            for part in [key.id, nonce, sealed] { row += part }
            return row
        }

        /// Returns the revision of a state that was just written: its nonce. No other state has the same nonce.
        static func revision(of sealed: some RandomAccessCollection<UInt8>) -> StorageRevision {
            StorageRevision(Array(sealed.dropFirst(headLength).prefix(XAES256GCM.nonceLength)))
        }

        static func context(slot: UnsafeRawBufferPointer, version: Int64, key: DataKey) -> [UInt8] {
            var fields = key.rowContext
            fields.add(slot)
            fields.add(version)
            fields.add(key.id)
            return fields.bytes
        }
    }

    /// A row that was read from the database and is not authenticated yet. Its bytes belong to SQLite and are valid
    /// until the statement is stepped or reset.
    struct RawRow {
        /// Nil if the column does not contain a blob.
        let slot: UnsafeRawBufferPointer?
        let version: Int64?
        let sealed: UnsafeRawBufferPointer?

        /// Creates a row from bytes in memory.
        init(slot: UnsafeRawBufferPointer, version: Int64, sealed: UnsafeRawBufferPointer) {
            (self.slot, self.version, self.sealed) = (slot, version, sealed)
        }

        /// Creates a row from three consecutive columns of a statement's current row.
        init(_ statement: Statement, firstColumn: Int32) {
            func bytes(_ column: Int32) -> UnsafeRawBufferPointer? { statement.kind(column) == .blob ? statement.blob(column) : nil }
            slot = bytes(firstColumn)
            version = statement.kind(firstColumn + 1) == .integer ? statement.integer(firstColumn + 1) : nil
            sealed = bytes(firstColumn + 2)
        }

        /// Returns whether the row has a nonce that is this revision. The row is not authenticated.
        func hasRevision(_ revision: StorageRevision) -> Bool {
            guard slot?.count == DataKey.slotLength, let version, version > 0, let sealed, sealed.count >= SealedRow.minimumLength,
                sealed[0] == SealedRow.format
            else { return false }
            let nonce = sealed[SealedRow.headLength..<SealedRow.headLength + XAES256GCM.nonceLength]
            return UnsafeRawBufferPointer(rebasing: nonce).hasBytes(revision.bytes)
        }

        /// The result of an attempt to open the row.
        enum Opened {
            case content(RowContent, StorageRevision)
            /// The row was damaged or changed after it was written.
            case damaged(StorageCorruption)
            /// The row was sealed with a key that has been destroyed. Its content is lost.
            case destroyed
            /// The row names a format or a key that the keyset does not permit. That is damage if the keyset was read
            /// in the row's transaction. Otherwise another process may have changed the keyset.
            case stranger(StorageCorruption)
            /// The header permits the row's format, but this version does not support it. The row must not be changed.
            case refused(BackendError)
        }

        /// Decrypts and authenticates the row. No field is trusted before the tag is verified.
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
                let context = SealedRow.context(slot: slot, version: version, key: key)
                var plain = try key.sealing.open(
                    nonceAndSealed: UnsafeRawBufferPointer(rebasing: sealed[SealedRow.headLength...]), authenticating: context)
                defer { wipe(&plain) }
                do throws(RecordDamage) {
                    let content = try RowContent(padded: plain)
                    return .content(content, content.keptRevision ?? SealedRow.revision(of: sealed))
                } catch { return damaged("\(error.reason), although it was authenticated") }
            } catch { return damaged("was changed, truncated, or moved here from another slot") }
        }

        /// Returns the key that the row names, if the keyset contains it.
        func key(_ keyset: Keyset) -> DataKey? {
            guard let sealed, sealed.count >= SealedRow.headLength else { return nil }
            return keyset.key(UnsafeRawBufferPointer(rebasing: sealed[1..<SealedRow.headLength]))
        }

        /// Returns the bytes of the row and a revision computed from them. With the revision, a caller can replace the
        /// damaged row on the precondition that it is unchanged.
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
