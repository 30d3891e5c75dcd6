#if SQLite
    import BackendContract
    import CSQLite

    /// A connection to one database file. Used by one caller at a time: SQLite's own mutex is off.
    ///
    /// A connection that is released without ``close()`` is closed too.
    final class Connection {
        /// For what SQLite does with two connections.
        let handle: OpaquePointer
        private var isOpen = true
        private let mayWait: () -> Bool
        /// How many pages the log held after this connection's last commit; see ``countLogPages()``.
        private(set) var logPages: Int32 = 0

        /// Opens an existing file; no file is created.
        /// - Parameters:
        ///   - path: An absolute path.
        ///   - leavesLog: Whether the log stays as it is when the last connection closes. SQLite would write it back, and that needs the
        ///     store's lock, which a connection that is released does not have.
        ///   - mayWait: Called when another connection has the lock that SQLite needs: true to try again, false to give up.
        convenience init(path: String, leavesLog: Bool = true, mayWait: @escaping () -> Bool = { false }) throws(SQLiteFault) {
            // Where SQLite was built with SQLITE_USE_URI, as Debian's is, it reads a path that begins with "file:" as a URI, whatever the
            // flags say.
            guard path.hasPrefix("/") else { throw SQLiteFault(SQLITE_CANTOPEN) }
            var opened: OpaquePointer?
            // A reader of a database with a write-ahead log writes too: to the index of the log.
            let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
            guard code == SQLITE_OK, let opened else {
                let fault = SQLiteFault(code, on: opened)
                sqlite3_close_v2(opened)
                throw fault
            }
            self.init(opened, mayWait: mayWait)
            sqlite3_extended_result_codes(opened, 1)
            // "text" in double quotes is a name and never a string, so that a misspelt column is an error.
            _ = localdata_set(opened, SQLITE_DBCONFIG_DQS_DDL, 0)
            _ = localdata_set(opened, SQLITE_DBCONFIG_DQS_DML, 0)
            sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, Int32(SealedRow.maximumLength))
            if leavesLog { leaveLog() }
            for pragma in DatabaseFormat.pragmas { try execute(pragma) }
        }

        /// Takes an open connection, and closes it in the end.
        init(_ handle: OpaquePointer, mayWait: @escaping () -> Bool = { false }) {
            self.handle = handle
            self.mayWait = mayWait
            // The handler is called during a call on this connection only, so this object is alive.
            sqlite3_busy_handler(
                handle,
                { context, _ in context.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue().mayWait() } == true ? 1 : 0 },
                Unmanaged.passUnretained(self).toOpaque())
        }

        deinit { close() }

        /// Opens a database for reading.
        static func reading(_ path: String) throws(SQLiteFault) -> Connection {
            let connection = try Connection(path: path)
            try connection.execute("PRAGMA query_only = ON")
            return connection
        }

        /// Whether the process may write to a file, as far as owner, permissions and mounts tell. A file that does not exist counts as one that it may.
        static func mayWrite(_ path: String) -> Bool {
            guard let system = sqlite3_vfs_find(nil), let access = system.pointee.xAccess else { return true }
            func may(_ flag: Int32) -> Bool {
                var may: Int32 = 1
                return access(system, path, flag, &may) != SQLITE_OK || may != 0
            }
            return !may(SQLITE_ACCESS_EXISTS) || may(SQLITE_ACCESS_READWRITE)
        }

        /// Makes an empty database in memory.
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

        /// Finalizes every statement and closes the connection. Nothing else is called afterwards.
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

        /// Keeps ``logPages`` up to date from now on.
        func countLogPages() {
            // The hook is called during a commit on this connection only, so this object is alive.
            _ = sqlite3_wal_hook(
                handle,
                { context, _, _, pages in
                    if let context { Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().logPages = pages }
                    return SQLITE_OK
                }, Unmanaged.passUnretained(self).toOpaque())
        }

        /// Writes the log back into the database.
        /// - Parameter isEmptied: Whether readers of an older state are waited for, and the log is cut to nothing.
        /// - Returns: Whether that was done.
        func checkpoint(isEmptied: Bool) -> Bool {
            // SQLite finds the log by the database's name. If another file has that name by now, the log is the other file's.
            var hasMoved: Int32 = 1
            guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK, hasMoved == 0 else { return false }
            let mode = isEmptied ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
            return sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil) == SQLITE_OK
        }

        /// Whether the log holds a transaction that its index does not name, which the next recovery would play back. Outside of a write transaction, that may
        /// be one that a living process is about to enter there.
        func hasUnnamedTransaction() throws(SQLiteFault) -> Bool {
            var hasRest: Int32 = 0
            let code = localdata_log_has_rest(handle, &hasRest)
            guard code == SQLITE_OK else { throw SQLiteFault(code) }
            return hasRest != 0
        }

        // MARK: Statements

        /// Runs statements that give no rows.
        func execute(_ sql: String) throws(SQLiteFault) {
            let code = sqlite3_exec(handle, sql, nil, nil, nil)
            guard code == SQLITE_OK else { throw SQLiteFault(code, on: handle) }
        }

        /// Prepares a statement that is used again and again until the connection is closed.
        func keptStatement(_ sql: String) throws(SQLiteFault) -> Statement {
            try prepare(sql, UInt32(SQLITE_PREPARE_PERSISTENT))
        }

        /// Prepares a statement that its caller finalizes.
        func statement(_ sql: String) throws(SQLiteFault) -> Statement { try prepare(sql, 0) }

        private func prepare(_ sql: String, _ flags: UInt32) throws(SQLiteFault) -> Statement {
            var statement: OpaquePointer?
            let code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
            guard code == SQLITE_OK, let statement else { throw SQLiteFault(code, on: handle) }
            return Statement(statement)
        }

        /// Steps through a query's rows.
        func rows(_ sql: String, _ body: (Statement) throws(BackendError) -> Void) throws(BackendError) {
            try rows(sql, { $0.backendError() }, body)
        }

        /// Steps through a query's rows, with errors of the caller's choice.
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

        /// The number in the first column of a query's last row.
        func number(_ sql: String) throws(BackendError) -> Int {
            var number = 0
            try rows(sql) { (row) throws(BackendError) in number = Int(row.integer(0)) }
            return number
        }

        /// The texts in the first column.
        func texts(_ sql: String) throws(BackendError) -> [String] {
            var texts: [String] = []
            try rows(sql) { (row) throws(BackendError) in texts.append(row.text(0)) }
            return texts
        }

        /// The bytes in the first column of a query's last row; nil where there is none.
        func bytes(_ sql: String) throws(BackendError) -> [UInt8]? {
            var bytes: [UInt8]?
            try rows(sql) { (row) throws(BackendError) in bytes = row.bytes(0) }
            return bytes
        }

        // MARK: Transactions

        /// How many rows the last statement has changed.
        var changes: Int32 { sqlite3_changes(handle) }

        /// Whether the database's file could be opened only for reading.
        var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") != 0 }

        /// Whether a transaction is open.
        var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

        /// Reads one state of the database.
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

        /// Whether the last call failed at a damaged page.
        var hasMetDamage: Bool { sqlite3_errcode(handle) & 0xFF == SQLITE_CORRUPT }

        /// Drops the pages that are kept in memory. SQLite checks a page when it reads it, and not again: after a fault it has to be read
        /// again.
        func forgetPages() { sqlite3_db_release_memory(handle) }

        // MARK: The format

        /// Checks that the database is one of this format, and holds nothing but what belongs to it and its features.
        /// - Throws: ``BackendError``: `corrupted`, `unsupported`, `incompatibleSchema`.
        func checkFormat() throws(BackendError) {
            try DatabaseFormat.check(applicationID: try number("PRAGMA application_id"), number: try number("PRAGMA user_version"))
            let schema = try texts(DatabaseFormat.schemaQuery)
            // Only a table is asked: a view of that name could answer anything.
            let features = schema.contains(DatabaseFormat.schema[0]) ? try bytes(DatabaseFormat.featuresQuery) : nil
            try DatabaseFormat.check(
                schema: schema, features: try features.map { (bytes) throws(BackendError) in try DatabaseHeader.features(bytes) })
        }

        /// The header's tag. It changes with anything in header or keyset.
        func headerTag() throws(BackendError) -> [UInt8] { try bytes(DatabaseFormat.tagQuery) ?? [] }
    }
#endif
