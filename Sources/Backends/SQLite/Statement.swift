#if SQLite
    import CSQLite

    /// A prepared statement: bound, stepped, read and reset. It ends with its connection, and is used as that is, by one caller at a time.
    struct Statement {
        private let pointer: OpaquePointer

        /// Takes a statement that was prepared.
        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        // MARK: Running

        /// Whether there is another row.
        /// - Throws: ``SQLiteFault``; the statement is reset then.
        func step() throws(SQLiteFault) -> Bool {
            let code = sqlite3_step(pointer)
            switch code {
            case SQLITE_ROW: return true
            case SQLITE_DONE: return false
            default:
                let fault = SQLiteFault(code, on: sqlite3_db_handle(pointer))
                reset()
                // SQLite checks a page when it reads it, and not again: after a fault it has to be read again.
                sqlite3_db_release_memory(sqlite3_db_handle(pointer))
                throw fault
            }
        }

        /// Runs a statement that gives no rows.
        func run() throws(SQLiteFault) {
            defer { reset() }
            if try step() { throw SQLiteFault(SQLITE_MISUSE) }
        }

        /// Ends a run. What was bound stays bound; the bytes of the row are gone.
        func reset() { sqlite3_reset(pointer) }

        /// Ends the statement, before its connection does.
        func finalize() { sqlite3_finalize(pointer) }

        /// How often SQLite has prepared the statement again because the schema had changed. It is kept in memory: nothing is read.
        var schemaChanges: Int32 { sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_REPREPARE, 0) }

        // MARK: Parameters

        // What SQLite does not take, as a blob above the connection's limit, it leaves as it was: as NULL, or as the value of the run before.

        /// Binds a number.
        func bind(_ value: Int64, at place: Int32) throws(SQLiteFault) { try check(sqlite3_bind_int64(pointer, place, value)) }

        /// Binds bytes. SQLite copies them.
        func bind(_ bytes: [UInt8], at place: Int32) throws(SQLiteFault) {
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            try check(bytes.withUnsafeBytes { bind($0, at: place, transient) })
        }

        /// Binds bytes that SQLite reads where they are: they stay there until ``clearBindings()``.
        func bind(lent bytes: UnsafeRawBufferPointer, at place: Int32) throws(SQLiteFault) { try check(bind(bytes, at: place, nil)) }

        private func bind(_ bytes: UnsafeRawBufferPointer, at place: Int32, _ destructor: sqlite3_destructor_type?) -> Int32 {
            // Without an address, SQLite takes an empty blob for NULL.
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(pointer, place, 0) }
            return sqlite3_bind_blob64(pointer, place, start, UInt64(bytes.count), destructor)
        }

        private func check(_ code: Int32) throws(SQLiteFault) { if code != SQLITE_OK { throw SQLiteFault(code) } }

        /// Binds NULL to every parameter.
        func clearBindings() { sqlite3_clear_bindings(pointer) }

        // MARK: Columns

        /// How many columns a row has.
        var columnCount: Int32 { sqlite3_column_count(pointer) }

        /// What kind of value is in a column.
        enum Kind {
            case integer, text, blob, other
        }

        /// The kind of a column's value, before anything converts it.
        func kind(_ column: Int32) -> Kind {
            switch sqlite3_column_type(pointer, column) {
            case SQLITE_INTEGER: .integer
            case SQLITE_TEXT: .text
            case SQLITE_BLOB: .blob
            default: .other
            }
        }

        /// A column as a number.
        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

        /// A column as text, with whatever follows a zero in it.
        func text(_ column: Int32) -> String {
            guard let start = sqlite3_column_text(pointer, column) else { return "" }
            return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))), as: UTF8.self)
        }

        /// A copy of a column's bytes.
        func bytes(_ column: Int32) -> [UInt8] { Array(blob(column)) }

        /// A column's bytes where SQLite keeps them, until the statement is stepped or reset.
        func blob(_ column: Int32) -> UnsafeRawBufferPointer {
            let start = sqlite3_column_blob(pointer, column)
            return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
        }
    }
#endif
