#if SQLite
    import BackendContract
    import Sealing

    /// The writing connection's prepared statements for the tables `labels` and `counts`. A label is a property by
    /// which queries find values. An entry of `labels` has a label and a slot. The slot is the keyed hash of the name
    /// of a value with this label. `counts` has a sealed count of the entries of each label.
    final class LabelStatements {
        private let insert: Statement
        private let slotsOf: Statement
        private let labelsOf: Statement
        private let count: Statement
        private let putCount: Statement
        private let deleteCount: Statement
        private let delete: Statement
        private let entry: Statement
        private let database: Connection

        init(_ database: Connection) throws(SQLiteFault) {
            self.database = database
            entry = try database.keptStatement("SELECT 1 FROM labels WHERE label = ?1 AND slot = ?2")
            slotsOf = try database.keptStatement("SELECT slot FROM labels WHERE label = ?1")
            labelsOf = try database.keptStatement("SELECT label FROM labels WHERE slot = ?1")
            count = try database.keptStatement("SELECT sealed FROM counts WHERE label = ?1")
            putCount = try database.keptStatement("INSERT OR REPLACE INTO counts VALUES (?1, ?2)")
            deleteCount = try database.keptStatement("DELETE FROM counts WHERE label = ?1 AND ?2 = ?2")
            insert = try database.keptStatement("INSERT OR IGNORE INTO labels VALUES (?1, ?2)")
            delete = try database.keptStatement("DELETE FROM labels WHERE label = ?1 AND slot = ?2")
        }

        /// Adds an entry. Returns false if it existed already.
        func insert(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) -> Bool {
            try run(insert, label, slot)
            return database.changes > 0
        }

        func delete(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) { try run(delete, label, slot) }

        /// Returns every slot of a label.
        func slots(of label: [UInt8]) throws(BackendError) -> [[UInt8]] { try column(slotsOf, label) }

        /// Returns every label of a slot. Reads the whole table.
        func labels(of slot: [UInt8]) throws(BackendError) -> [[UInt8]] { try column(labelsOf, slot) }

        /// Returns the sealed count of a label; nil if there is none.
        func count(of label: [UInt8]) throws(BackendError) -> [UInt8]? { try column(count, label).first }

        func putCount(_ label: [UInt8], _ sealed: [UInt8]) throws(BackendError) { try run(putCount, label, sealed) }
        func deleteCount(_ label: [UInt8]) throws(BackendError) { try run(deleteCount, label, []) }

        /// Returns every entry.
        func entries() throws(BackendError) -> [(label: [UInt8], slot: [UInt8])] {
            try pairs("SELECT label, slot FROM labels").map { ($0, $1) }
        }

        /// Returns every count.
        func counts() throws(BackendError) -> [(label: [UInt8], sealed: [UInt8])] {
            try pairs("SELECT label, sealed FROM counts").map { ($0, $1) }
        }

        private func pairs(_ query: String) throws(BackendError) -> [([UInt8], [UInt8])] {
            var pairs: [([UInt8], [UInt8])] = []
            try database.rows(query) { (statement) throws(BackendError) in pairs.append((statement.bytes(0), statement.bytes(1))) }
            return pairs
        }

        /// Deletes every entry of a label, and its count.
        func deleteLabel(_ label: [UInt8]) throws(BackendError) {
            for slot in try slots(of: label) { try delete(label, slot) }
            try deleteCount(label)
        }

        /// Deletes every entry and every count.
        func clear() throws(BackendError) {
            do throws(SQLiteFault) { try database.execute("DELETE FROM labels; DELETE FROM counts") } catch { throw error.backendError() }
        }

        private func column(_ statement: Statement, _ parameter: [UInt8]) throws(BackendError) -> [[UInt8]] {
            defer { statement.reset() }
            var values: [[UInt8]] = []
            try onDatabase { () throws(SQLiteFault) in
                try statement.bind(parameter, at: 1)
                while try statement.step() { values.append(statement.bytes(0)) }
            }
            return values
        }

        func hasEntry(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) -> Bool {
            try onDatabase { () throws(SQLiteFault) in try entry.hasRow(label, slot) }
        }

        /// Returns every slot that has a label. Reads the whole table.
        func slots() throws(BackendError) -> Set<[UInt8]> {
            var slots: Set<[UInt8]> = []
            try database.rows("SELECT DISTINCT slot FROM labels") { (statement) throws(BackendError) in slots.insert(statement.bytes(0)) }
            return slots
        }

        private func run(_ statement: Statement, _ first: [UInt8], _ second: [UInt8]) throws(BackendError) {
            try onDatabase { () throws(SQLiteFault) in
                try statement.bind(first, second)
                try statement.run()
            }
        }
    }
#endif
