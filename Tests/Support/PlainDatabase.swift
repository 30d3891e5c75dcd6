#if SQLite
    import CSQLite
    package import Foundation

    /// A plain SQLite connection without the code of the library.
    /// It checks nothing, and can change what an attacker can change.
    ///
    /// `@unchecked Sendable`: SQLite's mutex is on, so any thread may call. A test runs one transaction at a time.
    package final class PlainDatabase: @unchecked Sendable {
        private let handle: OpaquePointer

        /// Opens a database, or creates it.
        package init(path: String) throws {
            var opened: OpaquePointer?
            let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nil)
            guard code == SQLITE_OK, let opened else {
                sqlite3_close_v2(opened)
                throw PlainFailure(description: "\(path) does not open: SQLite error \(code)")
            }
            handle = opened
        }

        deinit { sqlite3_close_v2(handle) }

        /// Executes statements. The arguments belong to the first statement.
        package func execute(_ sql: String, _ arguments: [any PlainArgument] = []) throws { _ = try rows(sql, arguments) }

        /// Executes statements, and returns their rows.
        package func rows(_ sql: String, _ arguments: [any PlainArgument] = []) throws -> [[PlainValue]] {
            var rows: [[PlainValue]] = []
            try sql.withCString { start in
                var (rest, arguments): (UnsafePointer<CChar>?, _) = (start, arguments)
                while let next = rest, next.pointee != 0 {
                    var statement: OpaquePointer?
                    guard sqlite3_prepare_v2(handle, next, -1, &statement, &rest) == SQLITE_OK else { throw failure(sql) }
                    guard let statement else { continue }
                    defer { sqlite3_finalize(statement) }
                    for (place, argument) in arguments.enumerated() { argument.plainValue.bind(statement, Int32(place + 1)) }
                    arguments = []
                    while true {
                        let code = sqlite3_step(statement)
                        if code == SQLITE_DONE { break }
                        guard code == SQLITE_ROW else { throw failure(sql) }
                        rows.append((0..<sqlite3_column_count(statement)).map { PlainValue(statement, $0) })
                    }
                }
            }
            return rows
        }

        /// Returns the first column of the first row, or nil if there is no row.
        package func value(_ sql: String, _ arguments: [any PlainArgument] = []) throws -> PlainValue? {
            try rows(sql, arguments).first?.first
        }

        /// Runs work in one transaction and commits it. An error rolls the transaction back.
        package func transaction<R>(_ body: (PlainDatabase) throws -> R) throws -> R {
            try execute("BEGIN")
            do {
                let result = try body(self)
                try execute("COMMIT")
                return result
            } catch {
                try? execute("ROLLBACK")
                throw error
            }
        }

        private func failure(_ sql: String) -> PlainFailure {
            PlainFailure(description: "\(sql): \(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    /// An error of SQLite that a test does not expect.
    package struct PlainFailure: Error, CustomStringConvertible {
        package let description: String
    }

    /// A value in a column.
    package enum PlainValue: Hashable, Sendable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob(Data)

        fileprivate init(_ statement: OpaquePointer, _ column: Int32) {
            let count = Int(sqlite3_column_bytes(statement, column))
            switch sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(statement, column))
            case SQLITE_FLOAT: self = .real(sqlite3_column_double(statement, column))
            case SQLITE_TEXT:
                let start = sqlite3_column_text(statement, column)
                self = .text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
            case SQLITE_BLOB: self = .blob(sqlite3_column_blob(statement, column).map { Data(bytes: $0, count: count) } ?? Data())
            default: self = .null
            }
        }

        fileprivate func bind(_ statement: OpaquePointer, _ place: Int32) {
            let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            switch self {
            case .null: sqlite3_bind_null(statement, place)
            case .integer(let value): sqlite3_bind_int64(statement, place, value)
            case .real(let value): sqlite3_bind_double(statement, place, value)
            case .text(let text): sqlite3_bind_text(statement, place, text, Int32(text.utf8.count), copied)
            case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, place, 0)
            case .blob(let bytes):
                _ = bytes.withUnsafeBytes { sqlite3_bind_blob(statement, place, $0.baseAddress, Int32($0.count), copied) }
            }
        }

        /// The integer, or nil for another type.
        package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

        /// The text, or nil for another type.
        package var text: String? { if case .text(let text) = self { text } else { nil } }

        /// The bytes, or nil for another type.
        package var blob: Data? { if case .blob(let bytes) = self { bytes } else { nil } }
    }

    /// A type whose values can be arguments of a statement.
    package protocol PlainArgument: Sendable {
        /// The argument as the value of a column.
        var plainValue: PlainValue { get }
    }

    extension Int64: PlainArgument {
        package var plainValue: PlainValue { .integer(self) }
    }

    extension String: PlainArgument {
        package var plainValue: PlainValue { .text(self) }
    }

    extension Data: PlainArgument {
        package var plainValue: PlainValue { .blob(self) }
    }
#endif
