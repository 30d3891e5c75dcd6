#if SQLite
    import CSQLite
    import Foundation

    /// A prepared statement. It is valid until its connection is closed. Like the connection, it is used by one caller
    /// at a time.
    struct Statement {
        private let pointer: OpaquePointer

        /// Wraps a statement that SQLite has prepared.
        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        // MARK: Running

        /// Steps to the next row. Returns false after the last row.
        /// - Throws: ``SQLiteFault``. The statement is reset in this case.
        func step() throws(SQLiteFault) -> Bool {
            let code = sqlite3_step(pointer)
            switch code {
            case SQLITE_ROW: return true
            case SQLITE_DONE: return false
            default:
                let fault = SQLiteFault(code, on: sqlite3_db_handle(pointer))
                reset()
                // SQLite checks a page only when it reads the page from the file, so drop cached pages after a fault.
                sqlite3_db_release_memory(sqlite3_db_handle(pointer))
                throw fault
            }
        }

        /// Runs a statement that returns no rows.
        func run() throws(SQLiteFault) {
            defer { reset() }
            if try step() { throw SQLiteFault(SQLITE_MISUSE) }
        }

        /// Resets the statement. Its parameters stay bound, but the bytes of the current row become invalid.
        func reset() { sqlite3_reset(pointer) }

        /// Destroys the statement before its connection is closed.
        func finalize() { sqlite3_finalize(pointer) }

        /// How often SQLite has prepared the statement again because the schema had changed. Reading this counter reads
        /// no page.
        var schemaChanges: Int32 { sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_REPREPARE, 0) }

        // MARK: Parameters

        // SQLite may reject a value, such as a blob above the connection's limit. The parameter then keeps NULL or the
        // previous value, so every result code is checked.

        /// Binds a number.
        func bind(_ value: Int64, at place: Int32) throws(SQLiteFault) { try check(sqlite3_bind_int64(pointer, place, value)) }

        /// Binds bytes, which SQLite copies.
        func bind(_ bytes: [UInt8], at place: Int32) throws(SQLiteFault) {
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            try check(bytes.withUnsafeBytes { bind($0, at: place, transient) })
        }

        /// Binds the first two parameters to bytes, which SQLite copies.
        func bind(_ first: [UInt8], _ second: [UInt8]) throws(SQLiteFault) {
            try bind(first, at: 1)
            try bind(second, at: 2)
        }

        /// Returns whether there is a row for two parameters. The statement is reset.
        func hasRow(_ first: [UInt8], _ second: [UInt8]) throws(SQLiteFault) -> Bool {
            defer { reset() }
            try bind(first, second)
            return try step()
        }

        /// Binds bytes without copying them. They must stay valid until ``clearBindings()``.
        func bind(lent bytes: UnsafeRawBufferPointer, at place: Int32) throws(SQLiteFault) { try check(bind(bytes, at: place, nil)) }

        private func bind(_ bytes: UnsafeRawBufferPointer, at place: Int32, _ destructor: sqlite3_destructor_type?) -> Int32 {
            // SQLite treats an empty blob without an address as NULL.
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(pointer, place, 0) }
            return sqlite3_bind_blob64(pointer, place, start, UInt64(bytes.count), destructor)
        }

        private func check(_ code: Int32) throws(SQLiteFault) { if code != SQLITE_OK { throw SQLiteFault(code) } }

        /// Binds NULL to every parameter.
        func clearBindings() { sqlite3_clear_bindings(pointer) }

        // MARK: Columns

        /// The number of columns of a row.
        var columnCount: Int32 { sqlite3_column_count(pointer) }

        /// The kind of a column's value.
        enum Kind {
            case integer, text, blob, other
        }

        /// Returns the kind of a column's value before any conversion.
        func kind(_ column: Int32) -> Kind {
            switch sqlite3_column_type(pointer, column) {
            case SQLITE_INTEGER: .integer
            case SQLITE_TEXT: .text
            case SQLITE_BLOB: .blob
            default: .other
            }
        }

        /// Returns a column as a number.
        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

        /// Returns a column as text, including zero bytes and the text after them.
        func text(_ column: Int32) -> String {
            guard let start = sqlite3_column_text(pointer, column) else { return "" }
            return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))), as: UTF8.self)
        }

        /// Returns a copy of a column's bytes.
        func bytes(_ column: Int32) -> [UInt8] { Array(blob(column)) }

        /// Returns a column's bytes in SQLite's memory. They are valid until the statement is stepped or reset.
        func blob(_ column: Int32) -> UnsafeRawBufferPointer {
            let start = sqlite3_column_blob(pointer, column)
            return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
        }
    }

    extension UnsafeRawBufferPointer {
        /// Whether the memory has exactly these bytes.
        func hasBytes(_ bytes: [UInt8]) -> Bool {
            guard count == bytes.count, let start = baseAddress else { return count == bytes.count }
            return memcmp(start, bytes, count) == 0
        }
    }
#endif
