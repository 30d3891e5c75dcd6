#if SQLite
    import BackendContract
    import BackendRuntime

    /// The parts (arrays of bytes) in which a backup contains a database. A *counted* field is preceded by its length
    /// in 4 bytes.
    ///
    /// The first part has the counted statements that create the tables. Every other part has rows, one after the
    /// other. A row starts with the number of its table's statement (4 bytes) and the number of its columns (1 byte).
    /// Each column has a kind (1 byte) and a content: 1 an integer (8 bytes), 2 a counted text, 3 a counted blob.
    ///
    /// The backup of a damaged database ends with parts that begin with `FF FF FF FF` instead of the number of a table.
    /// Together they contain the database file unchanged. The rows before them only serve to open that file.
    enum DatabaseParts {
        /// The value of a column.
        enum Value: Equatable {
            case integer(Int64)
            case text([UInt8])
            case blob([UInt8])

            /// Returns whether the first value comes before the second one in SQLite's sort order.
            static func precedes(_ first: Value, _ second: Value) -> Bool {
                switch (first, second) {
                case (.integer(let first), .integer(let second)): first < second
                case (.text(let first), .text(let second)), (.blob(let first), .blob(let second)):
                    first.lexicographicallyPrecedes(second)
                case (.integer, _), (.text, .blob): true
                default: false
                }
            }
        }

        /// A row, with the number of its table.
        struct Row {
            var table: Int
            var values: [Value]
        }

        /// Encodes the statements of the tables as the first part.
        static func schema(_ statements: [String]) -> [UInt8] {
            var writer = ByteWriter()
            for statement in statements { writer.counted(statement.utf8) }
            return writer.bytes
        }

        /// Decodes the statements of the tables.
        static func statements(_ part: [UInt8]) throws(BackendError) -> [String] {
            var reader = ByteReader(part[...])
            var statements: [String] = []
            do throws(RecordDamage) { while !reader.isAtEnd { statements.append(try reader.text()) } } catch { throw damage }
            guard statements.allSatisfy({ $0.hasPrefix(prefix) }) else { throw damage }
            return statements
        }

        /// Returns the name of the table that a statement creates.
        static func table(_ statement: String) -> String { String(statement.dropFirst(prefix.count).prefix { $0 != " " && $0 != "(" }) }

        private static let prefix = "CREATE TABLE "

        /// Appends the current row of a query.
        static func append(_ statement: Statement, of table: Int, to writer: inout ByteWriter) throws(BackendError) {
            writer.fixed(UInt32(table))
            writer.byte(UInt8(statement.columnCount))
            for column in 0..<statement.columnCount {
                switch statement.kind(column) {
                case .integer:
                    writer.byte(1)
                    writer.fixed(statement.integer(column))
                case .text:
                    writer.byte(2)
                    writer.counted(statement.bytes(column))
                case .blob:
                    writer.byte(3)
                    writer.counted(statement.blob(column))
                case .other: throw damagedRow
                }
            }
        }

        private static let fileMark = [UInt8](repeating: 0xFF, count: 4)

        /// Returns a part that contains bytes of the database file.
        static func file(_ bytes: [UInt8]) -> [UInt8] { fileMark + bytes }

        /// Returns the bytes of the database file in a part; nil if the part contains rows.
        static func fileBytes(_ part: [UInt8]) -> [UInt8]? { part.starts(with: fileMark) ? Array(part.dropFirst(fileMark.count)) : nil }

        /// Decodes the rows of a part.
        static func rows(_ part: [UInt8], _ body: (Row) throws(BackendError) -> Void) throws(BackendError) {
            var reader = ByteReader(part[...])
            while !reader.isAtEnd {
                let row: Row
                do throws(RecordDamage) { row = try self.row(&reader) } catch { throw damage }
                try body(row)
            }
        }

        private static func row(_ reader: inout ByteReader) throws(RecordDamage) -> Row {
            var row = Row(table: Int(try reader.fixed(UInt32.self)), values: [])
            for _ in 0..<(try reader.byte()) {
                switch try reader.byte() {
                case 1: row.values.append(.integer(try reader.fixed(Int64.self)))
                case 2: row.values.append(.text(try reader.counted()))
                case 3: row.values.append(.blob(try reader.counted()))
                default: throw RecordDamage("has a value of an unknown kind")
                }
            }
            return row
        }

        /// The error for a row with an unexpected kind of value, or in the wrong order.
        static let damagedRow = BackendError(.corrupted, "A row of the database has a form that this library never writes.")

        static let damage = BackendError(
            .corrupted, "The rows of a database in the backup differ from those that were written. Nothing was changed.")
    }

    /// Creates the tables of a backup and inserts rows into them.
    final class RowInserter {
        private let connection: Connection
        private let statements: [String]
        private var prepared: [[Int]: Statement] = [:]

        /// Creates the tables.
        init(_ statements: [String], in connection: Connection) throws(BackendError) {
            self.connection = connection
            self.statements = statements
            try onDatabase { () throws(SQLiteFault) in for statement in statements { try connection.execute(statement) } }
        }

        func insert(_ row: DatabaseParts.Row) throws(BackendError) {
            guard statements.indices.contains(row.table), !row.values.isEmpty else { throw DatabaseParts.damage }
            do throws(SQLiteFault) {
                let statement = try statement(for: row)
                for (index, value) in row.values.enumerated() {
                    switch value {
                    case .integer(let number): try statement.bind(number, at: Int32(index + 1))
                    case .text(let bytes), .blob(let bytes): try statement.bind(bytes, at: Int32(index + 1))
                    }
                }
                try statement.run()
                statement.clearBindings()
            } catch { throw error.backendError() }
        }

        private func statement(for row: DatabaseParts.Row) throws(SQLiteFault) -> Statement {
            let isText = row.values.map { value in if case .text = value { true } else { false } }
            let form = [row.table] + isText.map { $0 ? 1 : 0 }
            if let known = prepared[form] { return known }
            let values = isText.enumerated().map { $1 ? "CAST(?\($0 + 1) AS TEXT)" : "?\($0 + 1)" }
            let made = try connection.keptStatement(
                "INSERT INTO \"\(DatabaseParts.table(statements[row.table]))\" VALUES (\(values.joined(separator: ", ")))")
            prepared[form] = made
            return made
        }
    }
#endif
