import GRDBSQLite

/// A result of SQLite that differs from the expected one.
struct Failure: Error, CustomStringConvertible {
    let description: String
}

/// A connection to one database file. It uses WAL, flushes every commit, and runs checkpoints only on request.
final class Connection {
    private let handle: OpaquePointer

    init(path: String) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw Failure(description: "\(path) does not open: SQLite error \(code)")
        }
        handle = opened
        for setting in ["page_size=4096", "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0", "temp_store=MEMORY"] {
            try run("PRAGMA \(setting)")
        }
    }

    // Statements that are still alive keep the connection open until they are finalized.
    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    func prepare(_ sql: String) throws -> Statement {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK, let statement else {
            throw failure(sql)
        }
        return Statement(statement, of: self)
    }

    /// Writes the content of the write-ahead log back into the database file. Without `truncating`, the log keeps its
    /// length and is overwritten later.
    func checkpoint(truncating: Bool = false) throws {
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART
        guard sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil) == SQLITE_OK else { throw failure("checkpoint") }
    }

    fileprivate func failure(_ what: String) -> Failure {
        Failure(description: "\(what): \(String(cString: sqlite3_errmsg(handle)))")
    }
}

/// A prepared statement. It binds blobs without copying them, so their bytes must stay valid until the next `reset`.
final class Statement {
    private let statement: OpaquePointer
    private let connection: Connection

    fileprivate init(_ statement: OpaquePointer, of connection: Connection) {
        self.statement = statement
        self.connection = connection
    }

    deinit { sqlite3_finalize(statement) }

    func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(statement, index, value) }
    func bind(_ blob: UnsafeRawBufferPointer, at index: Int32) {
        sqlite3_bind_blob(statement, index, blob.baseAddress, Int32(blob.count), nil)
    }

    /// Steps to the next row. Returns false after the last row.
    func step() throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw connection.failure(String(cString: sqlite3_sql(statement)))
        }
    }

    func reset() { sqlite3_reset(statement) }

    /// Runs a statement that returns no rows.
    func run() throws {
        defer { reset() }
        guard try !step() else { throw Failure(description: "\(String(cString: sqlite3_sql(statement))): a row too many") }
    }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    /// Returns the bytes of a column. They are valid until the next `step` or `reset`.
    func blob(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}
