#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite

    /// An error of SQLite, identified by its result code. SQLite's messages are not used, because they may quote a
    /// statement.
    struct SQLiteFault: Error {
        /// The extended result code. Its lowest byte is the primary result code.
        let code: Int32
        /// The system's error number if a file could not be opened, read, written or locked; otherwise 0.
        let systemError: Int32

        /// Creates a fault with a result code.
        init(_ code: Int32) { (self.code, systemError) = (code, 0) }

        /// Creates a fault with the result code of a call on a connection.
        init(_ code: Int32, on connection: OpaquePointer?) {
            self.code = code
            let isOfSystem = [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xFF)
            let number = isOfSystem ? connection.map { sqlite3_system_errno($0) } ?? 0 : 0
            // SQLite reports every lock that it does not get as contention, and does not record the system's error.
            systemError = code & 0xFF == SQLITE_PROTOCOL ? LockSleep.failure : number
        }

        private var text: String { String(cString: sqlite3_errstr(code)) }

        /// Converts the fault to an error of the backend.
        /// - Parameter isCommit: Whether the commit failed. Its changes may still appear after a crash.
        func backendError(isCommit: Bool = false) -> BackendError {
            // After a failed commit, SQLite's error number may be that of an earlier fault, so it is not used.
            if systemError != 0, !isCommit {
                let system = FileError(number: systemError, operation: "use", path: "a file of the database").backendError()
                // These errors, such as a full disk, are not defects of the disk. The system's error describes them
                // more precisely than SQLite's result code.
                if [.unavailable, .noSpace, .accessDenied].contains(system.code) {
                    return BackendError(system.code, system.reason)
                }
            }
            if systemError != 0, code & 0xFF == SQLITE_PROTOCOL {
                let system = FileError(number: systemError, operation: "lock", path: "the index of the log")
                return BackendError(
                    .unavailable, "The database cannot be locked (\(system)). Check that its file system has locks; nothing was changed.")
            }
            return switch code & 0xFF {
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

        /// Whether SQLite could open one of the database's files only for reading.
        var isReadOnly: Bool { code & 0xFF == SQLITE_READONLY }

        /// Whether another connection held a lock that was needed. The call can be repeated.
        var isBusy: Bool { systemError == 0 && [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL].contains(code & 0xFF) }

        /// Converts the fault of a read. A row that is larger than any row of this library is damaged.
        func readError() -> BackendError {
            guard code & 0xFF == SQLITE_TOOBIG else { return backendError() }
            return BackendError(
                .corrupted, "A row is larger than any that this library writes. Restore the database from a backup; nothing was changed.")
        }
    }

    /// Uses SQLite, and throws a fault as an error of the backend.
    func onDatabase<R>(_ work: () throws(SQLiteFault) -> R) throws(BackendError) -> R {
        do throws(SQLiteFault) { return try work() } catch { throw error.backendError() }
    }
#endif
