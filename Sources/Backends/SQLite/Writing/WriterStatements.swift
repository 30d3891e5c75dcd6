#if SQLite
    import BackendContract
    import CSQLite

    /// The prepared statements of the writing connection. Preparing them for each commit would cost as much as half a
    /// flush to the disk.
    final class WriterStatements {
        private let database: Connection
        private let begin: Statement
        private let commit: Statement
        private let rollback: Statement
        private let save: Statement
        private let release: Statement
        private let undo: Statement
        private let version: Statement
        private let insert: Statement
        private let replace: Statement
        private let move: Statement
        private let delete: Statement
        private let readState: Statement
        private let replaceState: Statement
        private let insertState: Statement
        /// Created when first needed, because most databases have no labels, which are an index for queries.
        private var madeLabels: LabelStatements?

        init(_ database: Connection) throws(SQLiteFault) {
            self.database = database
            begin = try database.keptStatement("BEGIN IMMEDIATE")
            commit = try database.keptStatement("COMMIT")
            rollback = try database.keptStatement("ROLLBACK")
            save = try database.keptStatement("SAVEPOINT call")
            release = try database.keptStatement("RELEASE call")
            undo = try database.keptStatement("ROLLBACK TO call")
            version = try database.keptStatement("PRAGMA data_version")
            insert = try database.keptStatement("INSERT INTO records (id, slot, version, sealed) VALUES (?1, ?2, ?3, ?4)")
            replace = try database.keptStatement("UPDATE records SET slot = ?2, version = ?3, sealed = ?4 WHERE id = ?1")
            move = try database.keptStatement("UPDATE records SET id = ?2 WHERE id = ?1")
            delete = try database.keptStatement("DELETE FROM records WHERE id = ?1")
            readState = try database.keptStatement(DatabaseFormat.stateQuery)
            replaceState = try database.keptStatement("UPDATE state SET sealed = ?1 WHERE id = 1")
            insertState = try database.keptStatement("INSERT INTO state VALUES (1, ?1)")
        }

        /// Returns the statements for the tables of labels.
        func labels() throws(SQLiteFault) -> LabelStatements {
            if let madeLabels { return madeLabels }
            let made = try LabelStatements(database)
            madeLabels = made
            return made
        }

        func beginTransaction() throws(SQLiteFault) { try begin.run() }
        func commitTransaction() throws(SQLiteFault) { try commit.run() }
        /// Rolls back the transaction, unless a failed statement has already ended it.
        func undoTransaction() { if database.isInTransaction { try? rollback.run() } }

        func beginSavepoint() throws(SQLiteFault) { try save.run() }
        func releaseSavepoint() throws(SQLiteFault) { try release.run() }

        /// Undoes the changes since the savepoint, and ends the savepoint.
        /// - Throws: ``SQLiteFault`` if a failed statement has ended the whole transaction.
        func undoSavepoint() throws(SQLiteFault) {
            guard database.isInTransaction else { throw SQLiteFault(SQLITE_ABORT) }
            try undo.run()
            try release.run()
        }

        /// Returns the value of `PRAGMA data_version`, which changes with each commit of another connection.
        func dataVersion() throws(SQLiteFault) -> Int {
            defer { version.reset() }
            return try version.step() ? Int(version.integer(0)) : 0
        }

        /// Returns the stored sealed state, which has the number of commits and a sum over all rows; nil if there is
        /// none.
        func state() throws(SQLiteFault) -> [UInt8]? {
            defer { readState.reset() }
            guard try readState.step(), readState.kind(0) == .blob else { return nil }
            return readState.bytes(0)
        }

        /// Stores the sealed state.
        func putState(_ sealed: [UInt8]) throws(SQLiteFault) {
            try replaceState.bind(sealed, at: 1)
            try replaceState.run()
            guard database.changes == 0 else { return }
            try insertState.bind(sealed, at: 1)
            try insertState.run()
        }

        func insertRow(_ id: Int64, _ slot: [UInt8], _ number: Int64, _ sealed: [UInt8]) throws(SQLiteFault) {
            try write(insert, id, slot, number, sealed)
        }

        func replaceRow(_ id: Int64, _ slot: [UInt8], _ number: Int64, _ sealed: [UInt8]) throws(SQLiteFault) {
            try write(replace, id, slot, number, sealed)
        }

        func moveRow(_ id: Int64, to place: Int64) throws(SQLiteFault) {
            try move.bind(id, at: 1)
            try move.bind(place, at: 2)
            try move.run()
        }

        func deleteRow(_ id: Int64) throws(SQLiteFault) {
            try delete.bind(id, at: 1)
            try delete.run()
        }

        private func write(
            _ statement: Statement, _ id: Int64, _ slot: [UInt8], _ number: Int64, _ sealed: [UInt8]
        ) throws(SQLiteFault) {
            try slot.withUnsafeBufferPointer { (slot) throws(SQLiteFault) in
                try sealed.withUnsafeBufferPointer { (sealed) throws(SQLiteFault) in
                    defer { statement.clearBindings() }
                    try statement.bind(id, at: 1)
                    try statement.bind(lent: UnsafeRawBufferPointer(slot), at: 2)
                    try statement.bind(number, at: 3)
                    try statement.bind(lent: UnsafeRawBufferPointer(sealed), at: 4)
                    try statement.run()
                }
            }
        }
    }
#endif
