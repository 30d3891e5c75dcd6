#if SQLite
    import BackendContract
    import GRDBSQLite

    /// What the writing connection says again and again, prepared once: to have GRDB compile and bind it anew costs as much as half a flush. Used in GRDB's queue only.
    final class WriterStatements {
        private let database: RawDatabase
        private let begin: OpaquePointer
        private let commit: OpaquePointer
        private let rollback: OpaquePointer
        private let version: OpaquePointer
        private let insert: OpaquePointer
        private let replace: OpaquePointer
        private let move: OpaquePointer
        private let delete: OpaquePointer
        /// Made when they are first needed: most databases have no labels.
        private var madeLabels: LabelStatements?

        init(_ database: RawDatabase) throws(SQLiteFault) {
            self.database = database
            begin = try database.keptStatement("BEGIN IMMEDIATE")
            commit = try database.keptStatement("COMMIT")
            rollback = try database.keptStatement("ROLLBACK")
            version = try database.keptStatement("PRAGMA data_version")
            insert = try database.keptStatement("INSERT INTO records (id, slot, version, sealed) VALUES (?1, ?2, ?3, ?4)")
            replace = try database.keptStatement("UPDATE records SET slot = ?2, version = ?3, sealed = ?4 WHERE id = ?1")
            move = try database.keptStatement("UPDATE records SET id = ?2 WHERE id = ?1")
            delete = try database.keptStatement("DELETE FROM records WHERE id = ?1")
        }

        /// Lets go of the statements; they are not used after it.
        func finish() {
            madeLabels?.finish()
            for statement in [begin, commit, rollback, version, insert, replace, move, delete] { sqlite3_finalize(statement) }
        }

        /// What is said to the table of labels.
        func labels() throws(SQLiteFault) -> LabelStatements {
            if let madeLabels { return madeLabels }
            let made = try LabelStatements(database)
            madeLabels = made
            return made
        }

        func beginTransaction() throws(SQLiteFault) { try run(begin) }
        func commitTransaction() throws(SQLiteFault) { try run(commit) }
        /// A failed statement may have ended the transaction by itself; then there is nothing to undo.
        func undoTransaction() { if sqlite3_get_autocommit(database.handle) == 0 { try? run(rollback) } }

        /// What `PRAGMA data_version` says: another number after somebody else's commit.
        func dataVersion() throws(SQLiteFault) -> Int {
            defer { sqlite3_reset(version) }
            guard sqlite3_step(version) == SQLITE_ROW else { throw SQLiteFault(sqlite3_extended_errcode(database.handle)) }
            return Int(sqlite3_column_int64(version, 0))
        }

        func insertRow(_ id: Int64, _ slot: [UInt8], _ number: Int64, _ sealed: [UInt8]) throws(SQLiteFault) {
            try write(insert, id, slot, number, sealed)
        }

        func replaceRow(_ id: Int64, _ slot: [UInt8], _ number: Int64, _ sealed: [UInt8]) throws(SQLiteFault) {
            try write(replace, id, slot, number, sealed)
        }

        func moveRow(_ id: Int64, to place: Int64) throws(SQLiteFault) {
            sqlite3_bind_int64(move, 1, id)
            sqlite3_bind_int64(move, 2, place)
            try run(move)
        }

        func deleteRow(_ id: Int64) throws(SQLiteFault) {
            sqlite3_bind_int64(delete, 1, id)
            try run(delete)
        }

        private func write(
            _ statement: OpaquePointer, _ id: Int64, _ slot: [UInt8], _ number: Int64, _ sealed: [UInt8]
        ) throws(SQLiteFault) {
            try slot.withUnsafeBufferPointer { (slot) throws(SQLiteFault) in
                try sealed.withUnsafeBufferPointer { (sealed) throws(SQLiteFault) in
                    sqlite3_bind_int64(statement, 1, id)
                    // Lent for this one run: the bindings are cleared before the bytes go.
                    sqlite3_bind_blob(statement, 2, slot.baseAddress, Int32(slot.count), nil)
                    sqlite3_bind_int64(statement, 3, number)
                    sqlite3_bind_blob(statement, 4, sealed.baseAddress, Int32(sealed.count), nil)
                    defer { sqlite3_clear_bindings(statement) }
                    try run(statement)
                }
            }
        }

        private func run(_ statement: OpaquePointer) throws(SQLiteFault) {
            defer { sqlite3_reset(statement) }
            guard sqlite3_step(statement) == SQLITE_DONE else { throw SQLiteFault(sqlite3_extended_errcode(database.handle)) }
        }
    }
#endif
