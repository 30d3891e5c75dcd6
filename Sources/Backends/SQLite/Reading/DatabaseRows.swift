#if SQLite
    import BackendContract

    /// Reads the rows of a table in the order of its primary key, and checks each one. A damaged page can repeat rows
    /// or contain invalid values, which SQLite does not notice.
    final class DatabaseRows {
        private let statement: Statement
        private let table: Int
        /// The columns of the primary key.
        private let key: [Int32]
        private var last: [DatabaseParts.Value] = []

        init(_ connection: Connection, table: Int, named name: String) throws(BackendError) {
            self.table = table
            var columns: [(column: Int32, name: String)] = []
            try connection.rows("SELECT cid, name FROM pragma_table_info('\(name)') WHERE pk > 0 ORDER BY pk") {
                columns.append((Int32($0.integer(0)), $0.text(1)))
            }
            key = columns.map(\.column)
            let order = columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
            do throws(SQLiteFault) {
                statement = try connection.statement("SELECT * FROM \"\(name)\" ORDER BY \(order.isEmpty ? "1" : order)")
            } catch { throw error.readError() }
        }

        /// Appends the next row to the part of the backup that is being written.
        /// - Returns: False after the last row.
        /// - Throws: ``BackendError`` with `corrupted` if the table is damaged.
        func append(to writer: inout ByteWriter) throws(BackendError) -> Bool {
            do throws(SQLiteFault) { guard try statement.step() else { return false } } catch { throw error.readError() }
            try DatabaseParts.append(statement, of: table, to: &writer)
            try requireOrder()
            return true
        }

        // Reason: "A damaged database is copied as its pages" in Docs/Decisions/Backups.md.
        private func requireOrder() throws(BackendError) {
            guard !key.isEmpty else { return }
            let present = key.map { column -> DatabaseParts.Value in
                switch statement.kind(column) {
                case .integer: .integer(statement.integer(column))
                case .text: .text(statement.bytes(column))
                case .blob, .other: .blob(statement.bytes(column))
                }
            }
            defer { last = present }
            guard !last.isEmpty else { return }
            for (before, now) in zip(last, present) where before != now {
                if DatabaseParts.Value.precedes(before, now) { return }
                break
            }
            throw DatabaseParts.damagedRow
        }

        /// Finalizes the statement.
        func end() { statement.finalize() }
    }
#endif
