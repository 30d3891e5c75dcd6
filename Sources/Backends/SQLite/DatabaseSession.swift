#if SQLite
    import BackendContract
    import Sealing

    /// An open database: the file, its keys, and the connections that read single slots.
    final class DatabaseSession: Sendable {
        let file: DatabaseFile.FileID
        let header: DatabaseHeader
        let keyset: Keyset
        let reader: SlotReader

        init(file: DatabaseFile.FileID, header: DatabaseHeader, keyset: Keyset, reader: SlotReader) {
            self.file = file
            self.header = header
            self.keyset = keyset
            self.reader = reader
        }

        /// The error of a row whose key is not in the keyset.
        static func missingKey(_ id: [UInt8]) -> BackendError {
            BackendError(
                .encryptionKeyMissing,
                "A row was sealed with the data key \(hexadecimalText(of: id)), which the database does not hold. It was brought here from another database, or the keys were restored from an older backup; its bytes are left as they are."
            )
        }
    }
#endif
