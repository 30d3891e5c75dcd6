#if SQLite
    import BackendContract
    import GRDBSQLite

    /// A connection of SQLite's own, for what is done too often, or too close to the metal, to go through GRDB. Used by one caller at a time.
    struct RawDatabase {
        let handle: OpaquePointer

        /// Takes the handle of a connection that somebody else opened and will close.
        init(_ handle: OpaquePointer) { self.handle = handle }

        /// Opens an existing file for reading.
        /// - Parameter path: An absolute path: one that began with "file:" would be read as a URI.
        init(reading path: String) throws(SQLiteFault) {
            var database: OpaquePointer?
            // Readers of a database with a write-ahead log write too: into the index that its processes share.
            let code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
            guard code == SQLITE_OK, let database else {
                sqlite3_close_v2(database)
                throw SQLiteFault(code)
            }
            handle = database
            do throws(SQLiteFault) {
                keepLog()
                limit()
                for pragma in DatabaseFormat.pragmas + ["PRAGMA query_only = ON"] { try execute(pragma) }
            } catch {
                close()
                throw error
            }
        }

        func close() { sqlite3_close_v2(handle) }

        /// Lets go of what is kept of the file in memory. SQLite looks whether a page is whole when it is read, and not again: after a fault it has to be read again.
        func forgetPages() { sqlite3_db_release_memory(handle) }

        /// Leaves the log's file in place when the last connection closes: nobody then has to make it anew, and no name comes and goes.
        func keepLog() {
            var keep: Int32 = 1
            sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep)
        }

        /// Refuses to load what no row of this format can hold.
        func limit() { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(SealedRow.maximumLength)) }

        func execute(_ sql: String) throws(SQLiteFault) {
            guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteFault(sqlite3_extended_errcode(handle)) }
        }

        /// Prepares a statement that is kept and used again and again.
        func keptStatement(_ sql: String) throws(SQLiteFault) -> OpaquePointer {
            var statement: OpaquePointer?
            let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
            guard code == SQLITE_OK, let statement else { throw SQLiteFault(sqlite3_extended_errcode(handle)) }
            return statement
        }

        /// Steps through a query's rows.
        func rows(_ sql: String, _ body: (OpaquePointer) throws(BackendError) -> Void) throws(BackendError) {
            try rows(sql, { $0.backendError() }, body)
        }

        /// Steps through a query's rows, with errors of the caller's choice.
        func rows<Failure: Error>(
            _ sql: String, _ failure: (SQLiteFault) -> Failure, _ body: (OpaquePointer) throws(Failure) -> Void
        ) throws(Failure) {
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
                throw failure(SQLiteFault(sqlite3_extended_errcode(handle)))
            }
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_ROW: try body(statement)
                case SQLITE_DONE: return
                default:
                    let fault = SQLiteFault(sqlite3_extended_errcode(handle))
                    sqlite3_reset(statement)
                    forgetPages()
                    throw failure(fault)
                }
            }
        }

        /// The header's tag: another one as soon as anything in header or keyset is changed.
        func headerTag() throws(BackendError) -> [UInt8] {
            var tag: [UInt8] = []
            try rows(DatabaseFormat.tagQuery) { (row) throws(BackendError) in tag = Self.bytes(row, 0) }
            return tag
        }

        /// The number in the first column of a query's last row.
        func number(_ sql: String) throws(BackendError) -> Int {
            var number = 0
            try rows(sql) { (statement) throws(BackendError) in number = Int(sqlite3_column_int64(statement, 0)) }
            return number
        }

        /// The texts in the first column.
        func texts(_ sql: String) throws(BackendError) -> [String] {
            var texts: [String] = []
            try rows(sql) { (statement) throws(BackendError) in texts.append(Self.text(statement, 0)) }
            return texts
        }

        /// A text as it stands, with whatever follows a zero in it.
        static func text(_ statement: OpaquePointer, _ column: Int32) -> String {
            guard let start = sqlite3_column_text(statement, column) else { return "" }
            return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))), as: UTF8.self)
        }

        static func bytes(_ statement: OpaquePointer, _ column: Int32) -> [UInt8] { Array(blob(statement, column)) }

        /// SQLite's own bytes, there until the statement moves on.
        static func blob(_ statement: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer {
            let start = sqlite3_column_blob(statement, column)
            return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
        }

        /// Checks that the database is one of this format, and holds nothing but what belongs to it and its features.
        /// - Throws: ``BackendError``: `corrupted`, `unsupported`, `incompatibleSchema`.
        func checkFormat() throws(BackendError) {
            try DatabaseFormat.check(applicationID: try number("PRAGMA application_id"), number: try number("PRAGMA user_version"))
            let schema = try texts(DatabaseFormat.schemaQuery)
            var features: [UInt8]?
            // Only a table is asked: a view of that name could answer anything.
            if schema.contains(DatabaseFormat.schema[0]) {
                try rows(DatabaseFormat.featuresQuery) { (row) throws(BackendError) in features = Self.bytes(row, 0) }
            }
            try DatabaseFormat.check(
                schema: schema, features: try features.map { (bytes) throws(BackendError) in try DatabaseHeader.features(bytes) })
        }

        /// Runs a number of looks on one state of the database.
        func inReadTransaction<R, Failure: Error>(_ body: () throws(Failure) -> R, _ failure: (SQLiteFault) -> Failure) throws(Failure) -> R
        {
            do throws(SQLiteFault) { try execute("BEGIN") } catch { throw failure(error) }
            defer {
                sqlite3_exec(handle, "COMMIT", nil, nil, nil)
                // Nothing keeps the old state, whatever became of the end.
                if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
            }
            return try body()
        }
    }
#endif
