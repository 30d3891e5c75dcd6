import Foundation
import GRDBSQLite

/// Keeps a copy of all rows of a database in memory, and writes it into a new database with SQLite alone. The time of
/// this write is the minimum for any store that stores these rows in SQLite.
struct RowCopy {
    private enum Cell {
        case integer(Int64)
        case real(Double)
        case text([UInt8])
        case blob([UInt8])
        case null
    }

    private struct Table {
        let name: String
        var columns = 0
        var rows: [[Cell]] = []
    }

    private let statements: [String]
    private let tables: [Table]

    /// The number of rows in all tables.
    var count: Int { tables.reduce(0) { $0 + $1.rows.count } }

    /// Reads all rows of a database into memory.
    init(of path: String) throws {
        let source = try RawConnection(path)
        var statements: [String] = []
        var tables: [Table] = []
        try source.each("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC") {
            statements.append(RawConnection.text($0, 2))
            if RawConnection.text($0, 0) == "table" { tables.append(Table(name: RawConnection.text($0, 1))) }
        }
        for index in tables.indices {
            try source.each("SELECT * FROM \"\(tables[index].name)\"") { row in
                let columns = Int(sqlite3_column_count(row))
                tables[index].columns = columns
                tables[index].rows.append((0..<columns).map { Self.cell(row, Int32($0)) })
            }
        }
        (self.statements, self.tables) = (statements, tables)
    }

    private static func cell(_ row: OpaquePointer, _ column: Int32) -> Cell {
        switch sqlite3_column_type(row, column) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(row, column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(row, column))
        case SQLITE_TEXT: .text(RawConnection.bytes(row, column))
        case SQLITE_BLOB: .blob(RawConnection.bytes(row, column))
        default: .null
        }
    }

    private init(_ statements: [String], _ tables: [Table]) { (self.statements, self.tables) = (statements, tables) }

    /// Returns a copy whose tables have their rows in a random order. The rows of ``init(of:)`` are in the order of their ids.
    func shuffled() -> RowCopy {
        var dice = SeededNumbers(seed: 1)
        return RowCopy(
            statements,
            tables.map { table in
                var table = table
                table.rows.shuffle(using: &dice)
                return table
            })
    }

    /// Writes the rows into a new database, durably.
    /// - Parameter commits: The number of commits. Each writes an equal part of the rows of every table.
    func write(to path: String, commits: Int) throws {
        let target = try RawConnection(path)
        for statement in statements { try target.run(statement) }
        let inserts = try tables.map { table in
            try target.prepare(
                "INSERT INTO \"\(table.name)\" VALUES (\(Array(repeating: "?", count: max(1, table.columns)).joined(separator: ",")))")
        }
        defer { for insert in inserts { sqlite3_finalize(insert) } }
        for commit in 0..<commits {
            try target.run("BEGIN IMMEDIATE")
            for (table, insert) in zip(tables, inserts) {
                for row in table.rows[table.rows.count * commit / commits..<table.rows.count * (commit + 1) / commits] {
                    for (index, cell) in row.enumerated() { Self.bind(cell, to: insert, Int32(index + 1)) }
                    guard sqlite3_step(insert) == SQLITE_DONE else { throw CocoaError(.fileWriteUnknown) }
                    sqlite3_reset(insert)
                }
            }
            try target.run("COMMIT")
        }
    }

    private static func bind(_ cell: Cell, to statement: OpaquePointer, _ index: Int32) {
        // SQLite must copy texts and blobs, because their pointers are valid only inside the closure.
        switch cell {
        case .integer(let value): sqlite3_bind_int64(statement, index, value)
        case .real(let value): sqlite3_bind_double(statement, index, value)
        case .text(let bytes):
            bytes.withUnsafeBytes {
                _ = sqlite3_bind_text(
                    statement, index, $0.bindMemory(to: CChar.self).baseAddress, Int32($0.count),
                    unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        case .blob(let bytes):
            bytes.withUnsafeBytes {
                _ = sqlite3_bind_blob(
                    statement, index, $0.baseAddress, Int32($0.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            }
        case .null: sqlite3_bind_null(statement, index)
        }
    }
}

/// A connection through SQLite's C interface, with a write-ahead log and full durability.
final class RawConnection {
    let handle: OpaquePointer

    init(_ path: String) throws {
        var handle: OpaquePointer?
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK, let handle
        else { throw CocoaError(.fileReadUnknown) }
        self.handle = handle
        for setting in ["journal_mode = WAL", "synchronous = FULL"] { try run("PRAGMA \(setting)") }
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw CocoaError(.fileWriteUnknown) }
    }

    func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw CocoaError(.fileReadUnknown)
        }
        return statement
    }

    func each(_ sql: String, _ body: (OpaquePointer) -> Void) throws {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        while sqlite3_step(statement) == SQLITE_ROW { body(statement) }
    }

    static func bytes(_ row: OpaquePointer, _ column: Int32) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: sqlite3_column_blob(row, column), count: Int(sqlite3_column_bytes(row, column))))
    }

    static func text(_ row: OpaquePointer, _ column: Int32) -> String { String(decoding: bytes(row, column), as: UTF8.self) }
}
