#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// An open database: the file, its keys, and the connections that read single slots.
    final class DatabaseSession: Sendable {
        let file: DatabaseFile.FileID
        let header: DatabaseHeader
        let keyset: Keyset
        let reader: SlotReader
        /// When the file was last found at its path, in nanoseconds.
        private let seenAt = Atomic(Int64.min)

        init(file: DatabaseFile.FileID, header: DatabaseHeader, keyset: Keyset, reader: SlotReader) {
            self.file = file
            self.header = header
            self.keyset = keyset
            self.reader = reader
        }

        /// How long a file that was found at its path is assumed to be there still. After that, reads too notice that a database was
        /// replaced.
        private static let trust = Duration.milliseconds(100)

        /// Whether the file is still at its path, as far as is known.
        /// - Parameter look: Checks the path; called if the last check is too old.
        func isCurrent(_ now: MonotonicInstant, _ look: (DatabaseSession) -> Bool) -> Bool {
            let seen = seenAt.load(ordering: .relaxed)
            if seen != .min, now < MonotonicInstant(nanoseconds: seen).advanced(by: Self.trust) { return true }
            guard look(self) else { return false }
            seenAt.store(now.nanoseconds, ordering: .relaxed)
            return true
        }

        /// The error of a row whose key is not in the keyset.
        static func missingKey(_ id: [UInt8]) -> BackendError {
            BackendError(
                .encryptionKeyMissing,
                "A row was sealed with the data key \(hexadecimalText(of: id)), which the database does not hold. It was copied from another database, or the keys were restored from an older backup; its bytes are left as they are."
            )
        }
    }
#endif
