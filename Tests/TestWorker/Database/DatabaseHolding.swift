#if SQLite
    import BackendRuntime
    import Foundation
    import CSQLite

    /// Commands that hold a lock or a transaction until a line arrives on standard input.
    extension DatabaseCommand {
        /// Holds a write transaction, without the store's lock.
        static let holdTransaction: Run = { place, _ in
            try hold(place, begin: "BEGIN IMMEDIATE")
        }

        /// Holds a read transaction on the current state.
        static let holdReader: Run = { place, _ in
            try hold(place, begin: "BEGIN")
        }

        private static func hold(_ place: DatabasePlace, begin: String) throws {
            var database: OpaquePointer?
            func execute(_ sql: String) throws {
                guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else { throw HoldingFailure() }
            }
            func count() throws -> Int64 {
                var statement: OpaquePointer?
                defer { sqlite3_finalize(statement) }
                guard sqlite3_prepare_v2(database, "SELECT count(*) FROM records", -1, &statement, nil) == SQLITE_OK,
                    sqlite3_step(statement) == SQLITE_ROW
                else { throw HoldingFailure() }
                return sqlite3_column_int64(statement, 0)
            }
            guard sqlite3_open_v2(place.path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { throw HoldingFailure() }
            try execute("PRAGMA wal_autocheckpoint = 0; \(begin)")
            writeLine("holding \(try count())")
            _ = readLine()
            let again = try count()
            try execute("ROLLBACK")
            writeLine("released \(again)")
            // The connection stays open. The last connection to close would write the log back.
            _ = readLine()
        }

        /// The error if SQLite does not do what the command needs.
        private struct HoldingFailure: Error {}

        /// Holds the store's lock.
        static let holdLock: Run = { place, _ in
            let files = PosixFileSystem()
            try files.createDirectory(parentDirectory(of: place.lockPath))
            let lock = try files.lock(place.lockPath) { true }
            writeLine("holding lock")
            _ = readLine()
            lock.release()
            writeLine("released lock")
        }
    }
#endif
