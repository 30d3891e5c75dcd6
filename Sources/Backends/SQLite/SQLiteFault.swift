#if SQLite
    import BackendContract
    import CSQLite

    /// An error of SQLite's, by its code. Messages are not used: they may quote a statement.
    struct SQLiteFault: Error {
        /// The extended result code; its lowest byte is the ordinary one.
        let code: Int32

        /// Takes a result code.
        init(_ code: Int32) { self.code = code }

        private var text: String { String(cString: sqlite3_errstr(code)) }

        /// The error of a backend.
        /// - Parameter isCommit: Whether the commit failed: what was written may then be there after a crash all the same.
        func backendError(isCommit: Bool = false) -> BackendError {
            switch code & 0xFF {
            case SQLITE_FULL: BackendError(.noSpace, "There is no room left (\(text)). Free some space and try again.")
            case SQLITE_PERM, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_AUTH:
                BackendError(
                    .accessDenied,
                    "The database could not be used (\(text)). Check the owner and the permissions of the file and its folder.")
            case SQLITE_CORRUPT, SQLITE_NOTADB:
                BackendError(.corrupted, "The database is damaged (\(text)). Restore it from a backup; nothing was changed.")
            case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
                BackendError(.timedOut, "Another program keeps the database busy. Nothing was changed; try again once it is done.")
            case SQLITE_TOOBIG:
                BackendError(
                    .tooLarge,
                    "The value with its attributes has more than \(SealedRow.maximumLength) bytes. Shorten the attributes, or keep the data in a file and store the name of the file. Nothing was changed."
                )
            case SQLITE_IOERR:
                BackendError(
                    .failed, "The database could not be \(isCommit ? "written" : "read or written") (\(text)). Check the disk.",
                    outcome: isCommit ? .unknown : .notApplied)
            default: BackendError(.failed, "The database could not be used (\(text)).", outcome: isCommit ? .unknown : .notApplied)
            }
        }

        /// Whether another connection held a lock that was needed: the call can be repeated.
        var isBusy: Bool { [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL].contains(code & 0xFF) }

        /// The error of a read: a row that is larger than any that this library writes is damage.
        func readError() -> BackendError {
            guard code & 0xFF == SQLITE_TOOBIG else { return backendError() }
            return BackendError(
                .corrupted, "A row is larger than any that this library writes. Restore the database from a backup; nothing was changed.")
        }
    }
#endif
