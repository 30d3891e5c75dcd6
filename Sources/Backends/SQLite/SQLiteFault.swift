#if SQLite
    import BackendContract
    import GRDB
    import GRDBSQLite

    /// What SQLite answered, and what it amounts to. Only the code is used: a message may quote a statement.
    struct SQLiteFault: Error {
        let code: Int32

        init(_ code: Int32) { self.code = code }

        init(_ error: DatabaseError) { code = error.extendedResultCode.rawValue }

        private var text: String { String(cString: sqlite3_errstr(code)) }

        /// The error of a backend.
        /// - Parameter isCommit: Whether it was the commit that failed: a failed write or flush may then show after a crash all the same.
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
            case SQLITE_TOOBIG: BackendError(.tooLarge, "The value is larger than SQLite can hold. Nothing was changed.")
            case SQLITE_IOERR:
                BackendError(
                    .failed, "The database could not be \(isCommit ? "written" : "read or written") (\(text)). Look at the disk.",
                    outcome: isCommit ? .unknown : .notApplied)
            default: BackendError(.failed, "The database could not be used (\(text)).", outcome: isCommit ? .unknown : .notApplied)
            }
        }

        /// Runs statements of GRDB's and turns what they throw into the error of a backend.
        static func translating<R>(_ body: () throws -> R) throws(BackendError) -> R {
            do { return try body() } catch let error as BackendError { throw error } catch let error as DatabaseError {
                throw SQLiteFault(error).backendError()
            } catch { throw BackendError(.failed, "The database answered something that cannot be read.") }
        }
    }
#endif
