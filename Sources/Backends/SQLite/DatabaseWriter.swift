#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import GRDB
    import GRDBSQLite
    import Synchronization

    /// The one connection that writes: GRDB's, with its transactions and its statements. Used on the store's lane, with the store's lock held.
    final class DatabaseWriter: Sendable {
        /// The file that is written to.
        let file: DatabaseFile.FileID
        private let queue: DatabaseQueue
        private let memory: Mutex<Memory>
        private let patience: Patience

        private struct Memory: @unchecked Sendable {
            var finder: RowFinder?
            /// What `PRAGMA data_version` said when the database was last seen to be as it should.
            var checkedVersion: Int?
            /// The header as it was then.
            var header: DatabaseHeader?
            /// Whether something was deleted that still stands in the log.
            var mustScrub = false
        }

        /// How many pages the log holds, as SQLite says after each commit.
        private final class LogLength: Sendable {
            let pages = Atomic<Int32>(0)
        }

        private let logLength = LogLength()

        /// How long SQLite may wait for somebody who does not take the store's lock.
        private final class Patience: Sendable {
            let clock: any RuntimeClock
            let deadline = Mutex(MonotonicInstant(nanoseconds: .min))
            init(_ clock: any RuntimeClock) { self.clock = clock }

            func wait() -> Bool {
                guard clock.now < deadline.withLock({ $0 }) else { return false }
                clock.pause(.milliseconds(1))
                return true
            }
        }

        /// Opens a database that exists.
        init(path: String, file: DatabaseFile.FileID, clock: any RuntimeClock, deadline: MonotonicInstant) throws(BackendError) {
            self.file = file
            let patience = Patience(clock)
            patience.deadline.withLock { $0 = deadline }
            self.patience = patience
            let queue = try SQLiteFault.translating { try DatabaseQueue(path: path, configuration: Self.configuration { patience.wait() }) }
            self.queue = queue
            let finder = try SQLiteFault.translating {
                try queue.writeWithoutTransaction { database in
                    guard let handle = database.sqliteConnection else { throw SQLiteFault(SQLITE_MISUSE).backendError() }
                    let raw = RawDatabase(handle)
                    raw.keepLog()
                    // A copy made with SQLite's own tools may have lost the mode.
                    guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                        throw BackendError(
                            .accessDenied, "The database cannot have a write-ahead log. Check the permissions of its folder.")
                    }
                    do throws(SQLiteFault) { return Handover(finder: try RowFinder(raw)) } catch { throw error.backendError() }
                }
            }
            memory = Mutex(Memory(finder: finder.finder))
            let length = Unmanaged.passUnretained(logLength).toOpaque()
            queue.writeWithoutTransaction { database in
                _ = sqlite3_wal_hook(
                    database.sqliteConnection,
                    { length, _, _, pages in
                        if let length {
                            Unmanaged<LogLength>.fromOpaque(length).takeUnretainedValue().pages.store(pages, ordering: .relaxed)
                        }
                        return SQLITE_OK
                    }, length)
            }
        }

        /// The header as it was when the database was last checked.
        var header: DatabaseHeader? {
            get { memory.withLock(\.header) }
            set { memory.withLock { $0.header = newValue } }
        }

        /// Brings the finder out of GRDB's queue: from there on it is used inside the queue only.
        private struct Handover: @unchecked Sendable { let finder: RowFinder }

        private static func configuration(_ wait: @escaping @Sendable () -> Bool) -> Configuration {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = false
            configuration.busyMode = .callback { _ in wait() }
            configuration.prepareDatabase { database in
                for pragma in DatabaseFormat.pragmas { try database.execute(sql: pragma) }
            }
            return configuration
        }

        // MARK: Writing

        /// One transaction: what `body` does stays if it says so, and is durable then.
        /// - Parameters:
        ///   - deadline: Until when somebody is waited for who keeps the database busy.
        ///   - check: Whether the database is still the one that belongs here; asked only after somebody else wrote to it.
        ///   - body: Works in the transaction; false undoes it.
        /// - Throws: ``BackendError``; `outcome` is `unknown` when the commit itself failed.
        func transaction(
            deadline: MonotonicInstant, check: (RawDatabase) throws(BackendError) -> Void, _ body: (Rows) throws -> Bool
        ) throws(BackendError) {
            patience.deadline.withLock { $0 = deadline }
            try SQLiteFault.translating {
                try queue.writeWithoutTransaction { database in
                    guard let finder = memory.withLock({ $0.finder }) else { throw SQLiteFault(SQLITE_MISUSE).backendError() }
                    try database.execute(sql: "BEGIN IMMEDIATE")
                    var isOver = false
                    defer { if !isOver { try? database.execute(sql: "ROLLBACK") } }
                    let version = try finder.database.number("PRAGMA data_version")
                    if version != memory.withLock(\.checkedVersion) {
                        try finder.database.checkFormat()
                        try check(finder.database)
                        memory.withLock { $0.checkedVersion = version }
                    }
                    let rows = Rows(database: database, finder: finder)
                    guard try body(rows) else { return }
                    do { try database.execute(sql: "COMMIT") } catch let error as DatabaseError {
                        throw SQLiteFault(error).backendError(isCommit: true)
                    }
                    isOver = true
                    if rows.hasRemoved { memory.withLock { $0.mustScrub = true } }
                }
            }
        }

        /// What `PRAGMA data_version` says: another number after somebody else's commit.
        func dataVersion() throws(BackendError) -> Int {
            try SQLiteFault.translating {
                try queue.writeWithoutTransaction { database in try Int.fetchOne(database, sql: "PRAGMA data_version") ?? 0 }
            }
        }

        // MARK: The log

        /// How many pages the log may hold before it is written back: 4 MiB.
        static let logLimit: Int32 = 1_024

        /// Whether the log holds more than that.
        var isLogLong: Bool { logLength.pages.load(ordering: .relaxed) > Self.logLimit }

        /// Whether something that was removed still stands in the log.
        var mustScrub: Bool { memory.withLock(\.mustScrub) }

        /// Writes the log back into the database and cuts it to nothing, so that what was removed stands nowhere any more.
        /// Somebody who is reading an older state is waited for until the deadline; then it is done at the next occasion.
        func scrub(deadline: MonotonicInstant) {
            if checkpoint(SQLITE_CHECKPOINT_TRUNCATE, deadline: deadline) { memory.withLock { $0.mustScrub = false } }
        }

        /// Writes back what of the log nobody needs any more, without waiting for anybody.
        func checkpoint() { _ = checkpoint(SQLITE_CHECKPOINT_PASSIVE, deadline: MonotonicInstant(nanoseconds: .min)) }

        private func checkpoint(_ mode: Int32, deadline: MonotonicInstant) -> Bool {
            patience.deadline.withLock { $0 = deadline }
            return queue.writeWithoutTransaction { database in
                sqlite3_wal_checkpoint_v2(database.sqliteConnection, "main", mode, nil, nil) == SQLITE_OK
            }
        }

        /// Empties the log and closes the connection.
        func close(deadline: MonotonicInstant) {
            scrub(deadline: deadline)
            queue.writeWithoutTransaction { _ in
                memory.withLock { memory in
                    memory.finder?.finish()
                    memory.finder = nil
                }
            }
            // What is acknowledged is in the database or in its log; a connection that does not close leaves both as they are.
            try? queue.close()
        }
    }

    extension DatabaseWriter {
        /// The rows, inside one transaction.
        final class Rows {
            private let database: Database
            let finder: RowFinder
            /// Whether anything was deleted or replaced by a removal.
            var hasRemoved = false

            init(database: Database, finder: RowFinder) {
                self.database = database
                self.finder = finder
            }

            /// Puts a row where its slot belongs: at its home, or the next free place above it.
            func insert(_ slot: [UInt8], version: Int64, sealed: [UInt8]) throws {
                var id = RowFinder.home(of: slot)
                while try isTaken(id) { id += 1 }
                try run("INSERT INTO records (id, slot, version, sealed) VALUES (?, ?, ?, ?)", [id, Data(slot), version, Data(sealed)])
            }

            /// Replaces what stands at a place.
            func replace(_ id: Int64, _ slot: [UInt8], version: Int64, sealed: [UInt8]) throws {
                try run("UPDATE records SET slot = ?, version = ?, sealed = ? WHERE id = ?", [Data(slot), version, Data(sealed), id])
            }

            /// Empties a place, and moves back what had been pushed up by it.
            func delete(_ id: Int64) throws {
                try run("DELETE FROM records WHERE id = ?", [id])
                hasRemoved = true
                var (gap, next) = (id, id + 1)
                while let home = try home(at: next) {
                    if home <= gap {
                        try run("UPDATE records SET id = ? WHERE id = ?", [gap, next])
                        gap = next
                    }
                    next += 1
                }
            }

            private func isTaken(_ id: Int64) throws -> Bool { try home(at: id) != nil }

            /// The home of the row at a place; its own place if it is damaged, so that it stays. Nil where none is.
            private func home(at id: Int64) throws -> Int64? {
                do throws(SQLiteFault) { return try finder.row(at: id) { row in row.slot.map(RowFinder.home) ?? id } } catch {
                    throw error.backendError()
                }
            }

            private func run(_ sql: String, _ arguments: StatementArguments) throws {
                try database.cachedStatement(sql: sql).execute(arguments: arguments)
            }
        }
    }
#endif
