#if SQLite
    import BackendContract

    /// The statements on the table of labels of the connection that writes, prepared once.
    final class LabelStatements {
        private let insert: Statement
        private let delete: Statement
        private let purge: Statement
        private let header: Statement
        private let entry: Statement
        private let database: Connection

        init(_ database: Connection) throws(SQLiteFault) {
            self.database = database
            entry = try database.keptStatement("SELECT 1 FROM labels WHERE label = ?1 AND slot = ?2")
            insert = try database.keptStatement("INSERT OR IGNORE INTO labels VALUES (?1, ?2)")
            delete = try database.keptStatement("DELETE FROM labels WHERE label = ?1 AND slot = ?2")
            purge = try database.keptStatement("DELETE FROM labels WHERE slot = ?2")
            header = try database.keptStatement("UPDATE header SET value = ?2 WHERE name = CAST(?1 AS TEXT)")
        }

        func insert(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) { try run(insert, label, slot) }
        func delete(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) { try run(delete, label, slot) }

        /// Removes a slot from every label: it reads the whole table.
        func purge(_ slot: [UInt8]) throws(BackendError) { try run(purge, [], slot) }

        func hasEntry(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) -> Bool {
            defer { entry.reset() }
            do throws(SQLiteFault) {
                try entry.bind(label, at: 1)
                try entry.bind(slot, at: 2)
                return try entry.step()
            } catch {
                throw error.backendError()
            }
        }

        /// Every slot that has a label: it reads the whole table.
        func slots() throws(BackendError) -> Set<[UInt8]> {
            var slots: Set<[UInt8]> = []
            try database.rows("SELECT DISTINCT slot FROM labels") { (statement) throws(BackendError) in slots.insert(statement.bytes(0)) }
            return slots
        }

        /// Replaces an entry of the header.
        func setHeader(_ name: String, _ value: [UInt8]) throws(BackendError) { try run(header, Array(name.utf8), value) }

        private func run(_ statement: Statement, _ first: [UInt8], _ second: [UInt8]) throws(BackendError) {
            do throws(SQLiteFault) {
                try statement.bind(first, at: 1)
                try statement.bind(second, at: 2)
                try statement.run()
            } catch {
                throw error.backendError()
            }
        }
    }
#endif
