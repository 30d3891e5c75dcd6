#if SQLite
    import BackendRuntime
    import Foundation
    import CSQLite

    /// Programs that hold something until standard input gives a line.
    extension DatabaseCommand {
        /// A write transaction that does not take the store's lock.
        static let holdTransaction: Run = { place, _ in
            try hold(place, begin: "BEGIN IMMEDIATE")
        }

        /// A reader of the current state.
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
            // The connection is not closed: the last one to close would write the log back.
            _ = readLine()
        }

        /// SQLite did not do what the probe needs.
        private struct HoldingFailure: Error {}

        /// The store's lock.
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
