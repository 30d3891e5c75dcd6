#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
    import Sealing

    /// A row as it was read, not yet authenticated. Its bytes are SQLite's own, and valid only until the statement is stepped or reset.
    struct RawRow {
        /// Nil where the column holds no bytes.
        let slot: UnsafeRawBufferPointer?
        let version: Int64?
        let sealed: UnsafeRawBufferPointer?

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
            /// Sealed by a key that this keyset does not have: another process may have changed the keyset.
            case unknownKey([UInt8])
            /// Written by a later version: not to be touched.
            case refused(BackendError)
        }

        /// Opens the row. Nothing in it is trusted before the tag is checked.
        func open(_ keyset: Keyset) -> Opened {
            guard let slot, slot.count == DataKey.slotLength, let version, version > 0, let sealed else {
                return damaged("is not a row of this format")
            }
            guard let format = sealed.first else { return damaged("is empty") }
            guard format == SealedRow.format else {
                return .refused(
                    BackendError(
                        .unsupported,
                        "The row has format \(format); this version of the library knows format \(SealedRow.format). Update the program."))
            }
            guard sealed.count >= SealedRow.overhead + SizeClass.padded(1) else { return damaged("ends too early") }
            let id = UnsafeRawBufferPointer(rebasing: sealed[1..<SealedRow.headLength])
            guard let key = keyset.key(id) else {
                return keyset.destroyed.contains(Array(id)) ? .destroyed : .unknownKey(Array(id))
            }
            do throws(BackendError) {
                let context = SealedRow.context(database: keyset.database, slot: slot, version: version, key: id)
                var plain = try key.sealing.open(
                    nonceAndSealed: UnsafeRawBufferPointer(rebasing: sealed[SealedRow.headLength...]), authenticating: context)
                defer { wipe(&plain) }
                do throws(RecordDamage) {
                    let content = try RowContent(padded: plain)
                    return .content(content, SealedRow.revision(of: sealed))
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
