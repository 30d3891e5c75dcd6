#if SQLite
    import CSQLite
    @testable import SQLiteBackend
    import Synchronization

    /// A database in memory that the fuzz targets share. They write their inputs to it and read them back, so that the
    /// readers under test get rows from SQLite, as they do in a store.
    struct ScratchDatabase {
        static let shared = Mutex(ScratchDatabase())

        let connection: Connection
        private let handle: OpaquePointer
        private let row: OpaquePointer

        private init() {
            var handle: OpaquePointer?
            guard sqlite3_open(":memory:", &handle) == SQLITE_OK, let handle else { preconditionFailure("SQLite does not open") }
            self.handle = handle
            connection = Connection(handle)
            do throws(SQLiteFault) {
                for statement in DatabaseFormat.schema { try connection.execute(statement) }
            } catch {
                preconditionFailure("SQLite does not take the schema")
            }
            row = Self.prepare("SELECT ?1, ?2, ?3", handle)
        }

        private static func prepare(_ sql: String, _ handle: OpaquePointer) -> OpaquePointer {
            var statement: OpaquePointer?
            guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
                preconditionFailure("SQLite does not take a statement")
            }
            return statement
        }

        /// Passes the columns of a row to SQLite, and calls `body` with the row that SQLite returns.
        func look<Answer>(at stored: StoredRow, _ body: (RawRow) -> Answer) -> Answer {
            defer { sqlite3_reset(row) }
            bind(stored.slot, to: row, 1)
            sqlite3_bind_int64(row, 2, stored.version)
            bind(stored.sealed, to: row, 3)
            if stored.strange & 1 != 0 { sqlite3_bind_null(row, 1) }
            if stored.strange & 2 != 0 { sqlite3_bind_double(row, 2, 1) }
            if stored.strange & 4 != 0 { sqlite3_bind_text(row, 3, "text", -1, copied) }
            guard sqlite3_step(row) == SQLITE_ROW else { preconditionFailure("SQLite hands nothing over") }
            return body(RawRow(Statement(row), firstColumn: 0))
        }

        /// Runs a statement with values.
        func run(_ sql: String, _ values: [StoredValue]) {
            let statement = Self.prepare(sql, handle)
            defer { sqlite3_finalize(statement) }
            for (number, value) in values.enumerated() {
                let place = Int32(number + 1)
                switch value {
                case .null: sqlite3_bind_null(statement, place)
                case .number(let value): sqlite3_bind_int64(statement, place, value)
                case .bytes(let bytes): bind(bytes, to: statement, place)
                case .text(let text): sqlite3_bind_text(statement, place, text, Int32(text.utf8.count), copied)
                }
            }
            // If the table refuses a row, the row is left out.
            sqlite3_step(statement)
        }

        private func bind(_ bytes: [UInt8], to statement: OpaquePointer, _ place: Int32) {
            _ = bytes.withUnsafeBytes { sqlite3_bind_blob(statement, place, $0.baseAddress, Int32($0.count), copied) }
            // The address of an empty array may be nil. SQLite then binds NULL, so bind an empty blob instead.
            if bytes.isEmpty { sqlite3_bind_zeroblob(statement, place, 0) }
        }

        private var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
    }

    /// A value in a column of SQLite.
    enum StoredValue: Hashable {
        case null
        case number(Int64)
        case bytes([UInt8])
        case text(String)
    }
#endif
