#if SQLite
    import BackendContract
    import GRDBSQLite

    /// What the writing connection says to the table of labels, prepared once. Used in GRDB's queue only.
    final class LabelStatements {
        private let database: RawDatabase
        private let insert: OpaquePointer
        private let delete: OpaquePointer
        private let purge: OpaquePointer
        private let header: OpaquePointer

        init(_ database: RawDatabase) throws(SQLiteFault) {
            self.database = database
            insert = try database.keptStatement("INSERT OR IGNORE INTO labels VALUES (?1, ?2)")
            delete = try database.keptStatement("DELETE FROM labels WHERE label = ?1 AND slot = ?2")
            purge = try database.keptStatement("DELETE FROM labels WHERE slot = ?2")
            header = try database.keptStatement("UPDATE header SET value = ?2 WHERE name = CAST(?1 AS TEXT)")
        }

        /// Lets go of the statements; they are not used after it.
        func finish() { for statement in [insert, delete, purge, header] { sqlite3_finalize(statement) } }

        func insert(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) { try run(insert, label, slot) }
        func delete(_ label: [UInt8], _ slot: [UInt8]) throws(BackendError) { try run(delete, label, slot) }

        /// Removes a slot from under every label: it takes time by the table.
        func purge(_ slot: [UInt8]) throws(BackendError) { try run(purge, [], slot) }

        /// Replaces an entry of the header.
        func setHeader(_ name: String, _ value: [UInt8]) throws(BackendError) { try run(header, Array(name.utf8), value) }

        private func run(_ statement: OpaquePointer, _ first: [UInt8], _ second: [UInt8]) throws(BackendError) {
            first.withUnsafeBytes { _ = sqlite3_bind_blob(statement, 1, $0.baseAddress, Int32($0.count), transient) }
            second.withUnsafeBytes { _ = sqlite3_bind_blob(statement, 2, $0.baseAddress, Int32($0.count), transient) }
            defer { sqlite3_reset(statement) }
            guard sqlite3_step(statement) == SQLITE_DONE else {
                throw SQLiteFault(sqlite3_extended_errcode(database.handle)).backendError()
            }
        }

        /// Lets SQLite keep a copy: both are short.
        private var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
    }
#endif
