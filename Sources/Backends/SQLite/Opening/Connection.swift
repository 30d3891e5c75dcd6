#if SQLite
    import BackendContract
    import CSQLite

    /// A connection to one database file. Only one caller uses it at a time, because SQLite's own mutex is off.
    ///
    /// A connection that is released without ``close()`` is closed too.
    final class Connection {
        /// SQLite's handle, for SQLite functions that take two connections.
        let handle: OpaquePointer
        private var isOpen = true
        private let mayWait: () -> Bool
        /// The number of pages in the log, SQLite's write-ahead log, after this connection's last commit; see
        /// ``countLogPages()``.
        private(set) var logPages: Int32 = 0

        /// Opens an existing file, and never creates one.
        /// - Parameters:
        ///   - path: An absolute path.
        ///   - leavesLog: Whether the log stays unchanged when the last connection closes. If not, SQLite writes the
        ///     log back into the database. For that, the caller must hold the store's lock between processes. A
        ///     connection that is deallocated without ``close()`` does not hold this lock.
        ///   - settings: Further SQL that makes settings.
        ///   - mayWait: Called when another connection has the lock that SQLite needs. It returns true to try again,
        ///     false to give up.
        convenience init(
            path: String, leavesLog: Bool = true, settings: String = DatabaseFormat.writing, mayWait: @escaping () -> Bool = { false }
        ) throws(SQLiteFault) {
            // If SQLite was built with SQLITE_USE_URI, as in Debian, it treats a path that begins with "file:" as a
            // URI, whatever the flags say.
            // Reason: "Connections open existing files at absolute paths" in Docs/Decisions/Stores.md.
            guard path.hasPrefix("/") else { throw SQLiteFault(SQLITE_CANTOPEN) }
            var opened: OpaquePointer?
            // A reader needs write access too, because it writes to the index of the write-ahead log.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
            let code = sqlite3_open_v2(path, &opened, flags, LockSleep.layer)
            guard code == SQLITE_OK, let opened else {
                let fault = SQLiteFault(code, on: opened)
                sqlite3_close_v2(opened)
                throw fault
            }
            self.init(opened, mayWait: mayWait)
            sqlite3_extended_result_codes(opened, 1)
            // Text in double quotes is always a name and never a string, so that a misspelt column is an error.
            _ = localdata_set(opened, SQLITE_DBCONFIG_DQS_DDL, 0)
            _ = localdata_set(opened, SQLITE_DBCONFIG_DQS_DML, 0)
            sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, Int32(SealedRow.maximumLength))
            if leavesLog { leaveLog() }
            // SQLite does not trust the schema.
            _ = localdata_set(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            // Checkpoints run only when this library requests one.
            // Reason: "Every commit and checkpoint holds the lock" in Docs/Decisions/LocksAndCommits.md.
            sqlite3_wal_autocheckpoint(opened, 0)
            try execute("\(DatabaseFormat.pragmas); \(settings)")
        }

        /// Takes ownership of SQLite's handle of an open connection.
        init(_ handle: OpaquePointer, mayWait: @escaping () -> Bool = { false }) {
            self.handle = handle
            self.mayWait = mayWait
            // SQLite calls the handler only during a call on this connection, so this object is alive.
            sqlite3_busy_handler(
                handle,
                { context, _ in context.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue().mayWait() } == true ? 1 : 0 },
                Unmanaged.passUnretained(self).toOpaque())
        }

        deinit { close() }

        /// Opens a database for reading only. The first statement that reads opens the log, which SQLite finds by its name. So the caller
        /// reads before it checks that the file was not replaced.
        static func reading(_ path: String) throws(SQLiteFault) -> Connection {
            try Connection(path: path, settings: "PRAGMA query_only = ON")
        }

        /// Returns whether owner, permissions and mounts allow the process to write to a file. Returns true for a
        /// missing file.
        static func mayWrite(_ path: String) -> Bool {
            guard let system = sqlite3_vfs_find(nil), let access = system.pointee.xAccess else { return true }
            func may(_ flag: Int32) -> Bool {
                var may: Int32 = 1
                return access(system, path, flag, &may) != SQLITE_OK || may != 0
            }
            return !may(SQLITE_ACCESS_EXISTS) || may(SQLITE_ACCESS_READWRITE)
        }

        /// Creates an empty database in memory.
        static func inMemory() throws(SQLiteFault) -> Connection {
            var opened: OpaquePointer?
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
            let code = sqlite3_open_v2(":memory:", &opened, flags, nil)
            guard code == SQLITE_OK, let opened else {
                sqlite3_close_v2(opened)
                throw SQLiteFault(code)
            }
            return Connection(opened)
        }

        /// Finalizes every statement and closes the connection. The connection must not be used afterwards.
        func close() {
            guard isOpen else { return }
            isOpen = false
            while let statement = sqlite3_next_stmt(handle, nil) { sqlite3_finalize(statement) }
            sqlite3_close_v2(handle)
        }

        // MARK: The log

        private func leaveLog() {
            var keep: Int32 = 1
            sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep)
            _ = localdata_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        }

        /// Updates ``logPages`` after each commit from now on.
        func countLogPages() {
            // SQLite calls the hook only during a commit on this connection, so this object is alive.
            _ = sqlite3_wal_hook(
                handle,
                { context, _, _, pages in
                    if let context { Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().logPages = pages }
                    return SQLITE_OK
                }, Unmanaged.passUnretained(self).toOpaque())
        }

        /// Writes the log back into the database.
        /// - Parameter isEmptied: Whether to wait for readers of an older state and then truncate the log.
        /// - Returns: Whether it succeeded.
        func checkpoint(isEmptied: Bool) -> Bool {
            // SQLite finds the log by the database's path. If another file has that path now, the log belongs to the
            // other file.
            var hasMoved: Int32 = 1
            guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK, hasMoved == 0 else { return false }
            let mode = isEmptied ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
            return sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil) == SQLITE_OK
        }

        /// Returns whether the log has a complete transaction that is not in the log's index. Usually a killed process
        /// left it, and SQLite's next recovery would apply it. If the caller has not begun a write transaction, a
        /// running process may also be just committing it.
        func hasUnnamedTransaction() throws(SQLiteFault) -> Bool {
            var hasRest: Int32 = 0
            let code = localdata_log_has_rest(handle, &hasRest)
            guard code == SQLITE_OK else { throw SQLiteFault(code) }
            return hasRest != 0
        }

        // MARK: Statements

        /// Runs statements that return no rows.
        func execute(_ sql: String) throws(SQLiteFault) {
            let code = sqlite3_exec(handle, sql, nil, nil, nil)
            guard code == SQLITE_OK else { throw SQLiteFault(code, on: handle) }
        }

        /// Prepares a statement that is used repeatedly until the connection is closed.
        func keptStatement(_ sql: String) throws(SQLiteFault) -> Statement {
            try prepare(sql, UInt32(SQLITE_PREPARE_PERSISTENT))
        }

        /// Prepares a statement that the caller finalizes.
        func statement(_ sql: String) throws(SQLiteFault) -> Statement { try prepare(sql, 0) }

        private func prepare(_ sql: String, _ flags: UInt32) throws(SQLiteFault) -> Statement {
            var statement: OpaquePointer?
            let code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
            guard code == SQLITE_OK, let statement else { throw SQLiteFault(code, on: handle) }
            return Statement(statement)
        }

        /// Calls a closure for each row of a query.
        func rows(_ sql: String, _ body: (Statement) throws(BackendError) -> Void) throws(BackendError) {
            try rows(sql, { $0.backendError() }, body)
        }

        /// Calls a closure for each row of a query, and converts SQLite's errors with another closure.
        func rows<Failure: Error>(
            _ sql: String, _ failure: (SQLiteFault) -> Failure, _ body: (Statement) throws(Failure) -> Void
        ) throws(Failure) {
            let statement: Statement
            do throws(SQLiteFault) { statement = try prepare(sql, 0) } catch { throw failure(error) }
            defer { statement.finalize() }
            while true {
                do throws(SQLiteFault) { guard try statement.step() else { return } } catch { throw failure(error) }
                try body(statement)
            }
        }

        /// Returns the number in the first column of a query's last row.
        func number(_ sql: String) throws(BackendError) -> Int {
            var number = 0
            try rows(sql) { (row) throws(BackendError) in number = Int(row.integer(0)) }
            return number
        }

        /// Returns the texts in the first column of a query.
        func texts(_ sql: String) throws(BackendError) -> [String] {
            var texts: [String] = []
            try rows(sql) { (row) throws(BackendError) in texts.append(row.text(0)) }
            return texts
        }

        /// Returns the bytes in the first column of a query's last row; nil if there is no row.
        func bytes(_ sql: String) throws(BackendError) -> [UInt8]? {
            var bytes: [UInt8]?
            try rows(sql) { (row) throws(BackendError) in bytes = row.bytes(0) }
            return bytes
        }

        // MARK: Transactions

        /// The number of rows that the last statement changed.
        var changes: Int32 { sqlite3_changes(handle) }

        /// Whether SQLite could open the database file only for reading.
        var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") != 0 }

        /// Whether a transaction is open.
        var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

        /// Runs work in one read transaction, so that it reads one state of the database.
        func inReadTransaction<R, Failure: Error>(_ body: () throws(Failure) -> R, _ failure: (SQLiteFault) -> Failure) throws(Failure) -> R
        {
            do throws(SQLiteFault) { try execute("BEGIN") } catch { throw failure(error) }
            defer {
                try? execute("COMMIT")
                // A read transaction that stays open would keep the log from being emptied.
                if isInTransaction { try? execute("ROLLBACK") }
            }
            return try body()
        }

        /// Whether the last call failed because of a damaged page.
        var hasMetDamage: Bool { sqlite3_errcode(handle) & 0xFF == SQLITE_CORRUPT }

        /// Drops the pages that are cached in memory. SQLite checks a page only when it reads the page from the file,
        /// so pages must be read again after a fault.
        func forgetPages() { sqlite3_db_release_memory(handle) }

        // MARK: The format

        /// Checks that the database has this library's format. It must contain only the tables of the format and of the
        /// features, which are extensions that the header lists.
        /// - Returns: The entries of the header, and the number of bytes in all pages.
        /// - Throws: ``BackendError``: `corrupted`, `unsupported`, `incompatibleSchema`.
        @discardableResult func checkFormat() throws(BackendError) -> (entries: [String: [UInt8]], length: Int) {
            // The first query begins a read transaction that was requested, so it comes before the head is read.
            var schema = try texts("SELECT +sql FROM sqlite_schema")
            let head = try DatabaseHead(self)
            try DatabaseFormat.check(applicationID: head.applicationID, number: head.format)
            // An index that SQLite made has no statement.
            if schema.contains("") { schema = try texts(DatabaseFormat.schemaQuery) }
            // Query `header` only if it is a table, because a view could return anything.
            let entries = schema.contains(DatabaseFormat.schema[0]) ? try DatabaseHeader.entries(self) : [:]
            try DatabaseFormat.check(
                schema: schema, features: try entries["features"].map { (bytes) throws(BackendError) in try DatabaseHeader.features(bytes) }
            )
            return (entries, head.length)
        }

        /// Returns the header's authentication tag. It changes with every change of header or keys.
        func headerTag() throws(BackendError) -> [UInt8] { try bytes(DatabaseFormat.tagQuery) ?? [] }
    }

    /// The application id, the format and the length of a database.
    struct DatabaseHead {
        let applicationID: Int
        let format: Int
        /// The number of bytes in all pages.
        let length: Int

        /// Reads the head of a database: from the file if the log is empty, which is faster, and otherwise from SQLite.
        /// Reason: "The head of a database is read from its first bytes" in Docs/Decisions/Database.md.
        init(_ connection: Connection) throws(BackendError) {
            let bytes = [UInt8](unsafeUninitializedCapacity: 100) { bytes, filled in
                filled = localdata_header(connection.handle, bytes.baseAddress) == SQLITE_OK ? 100 : 0
            }
            func number(at place: Int, or query: String) throws(BackendError) -> Int {
                if bytes.isEmpty { return try connection.number(query) }
                return bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            }
            applicationID = try number(at: 68, or: "PRAGMA application_id")
            format = try number(at: 60, or: "PRAGMA user_version")
            let size = bytes.isEmpty ? try connection.number("PRAGMA page_size") : 4_096
            length = try number(at: 28, or: "PRAGMA page_count") * size
        }
    }
#endif
