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

        /// `@unchecked Sendable`: once it is made, it is used inside GRDB's queue only, which runs one piece of work at a time.
        fileprivate struct Tools: @unchecked Sendable {
            let finder: RowFinder
            let statements: WriterStatements
        }

        /// `@unchecked Sendable`: it is reached through the mutex; for the tools see there.
        private struct Memory: @unchecked Sendable {
            var tools: Tools?
            /// What `PRAGMA data_version` said when the database was last seen to be as it should, and its header then.
            var checked: (version: Int, header: DatabaseHeader)?
            /// Whether something was deleted that still stands in the log.
            var mustScrub = false
            /// From when on it is worth waiting again for somebody who kept an older state.
            var waitNotBefore = MonotonicInstant(nanoseconds: .min)
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
        /// - Parameter hasLog: Whether there is a log that a killed process may have left: what it removed may still stand in it.
        init(
            path: String, file: DatabaseFile.FileID, clock: any RuntimeClock, deadline: MonotonicInstant, hasLog: Bool
        ) throws(BackendError) {
            self.file = file
            let patience = Patience(clock)
            patience.deadline.withLock { $0 = deadline }
            self.patience = patience
            let queue = try SQLiteFault.translating { try DatabaseQueue(path: path, configuration: Self.configuration { patience.wait() }) }
            self.queue = queue
            let tools = try SQLiteFault.translating {
                try queue.writeWithoutTransaction { database in
                    guard let handle = database.sqliteConnection else { throw SQLiteFault(SQLITE_MISUSE).backendError() }
                    let raw = RawDatabase(handle)
                    // Nothing is changed in a file that is not one of ours.
                    try raw.checkFormat()
                    raw.keepLog()
                    raw.limit()
                    // A copy made with SQLite's own tools may have lost the mode.
                    let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
                    guard try mode == "wal" || String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                        throw BackendError(
                            .accessDenied, "The database cannot have a write-ahead log. Check the permissions of its folder.")
                    }
                    do throws(SQLiteFault) { return Tools(finder: try RowFinder(raw), statements: try WriterStatements(raw)) } catch {
                        throw error.backendError()
                    }
                }
            }
            memory = Mutex(Memory(tools: tools, mustScrub: hasLog))
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
        ///   - body: Works in the transaction, and is given the header as it stands; false undoes what it did.
        /// - Throws: ``BackendError``; `outcome` is `unknown` when the commit itself failed.
        func transaction(
            deadline: MonotonicInstant, _ body: (Rows, DatabaseHeader) throws(BackendError) -> Bool
        ) throws(BackendError) {
            patience.deadline.withLock { $0 = deadline }
            try SQLiteFault.translating {
                try queue.writeWithoutTransaction { _ in
                    guard let tools = memory.withLock(\.tools) else { throw SQLiteFault(SQLITE_MISUSE).backendError() }
                    let statements = tools.statements
                    do throws(SQLiteFault) { try statements.beginTransaction() } catch { throw error.backendError() }
                    do {
                        let header = try checkedHeader(tools)
                        let rows = try Rows(tools, header)
                        guard try body(rows, header) else { return statements.undoTransaction() }
                        do throws(SQLiteFault) { try statements.commitTransaction() } catch { throw error.backendError(isCommit: true) }
                        memory.withLock { $0.checked?.header = rows.header }
                        if rows.hasRemoved { memory.withLock { $0.mustScrub = true } }
                    } catch {
                        statements.undoTransaction()
                        tools.finder.database.forgetPages()
                        throw error
                    }
                }
            }
        }

        /// The header, after making sure that the database is still what it should be: looked at again only after somebody else has written to it.
        private func checkedHeader(_ tools: Tools) throws(BackendError) -> DatabaseHeader {
            let version: Int
            do throws(SQLiteFault) { version = try tools.statements.dataVersion() } catch { throw error.backendError() }
            if let (checked, header) = memory.withLock(\.checked), checked == version { return header }
            let database = tools.finder.database
            try database.checkFormat()
            let header = try DatabaseHeader(reading: database)
            memory.withLock { $0.checked = (version, header) }
            return header
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

        /// Writes the log back into the database and cuts it to nothing if something that was removed stands in it, so that it stands nowhere any more.
        ///
        /// Somebody who is reading an older state is waited for until the deadline. If that does not help it is tried again with every commit, but not waited for for a
        /// while: one reader elsewhere must not make every change slow.
        func scrubIfNeeded(deadline: MonotonicInstant) {
            guard let canWait = memory.withLock({ $0.mustScrub ? $0.waitNotBefore <= patience.clock.now : nil }) else { return }
            guard !scrub(deadline: canWait ? deadline : MonotonicInstant(nanoseconds: .min)), canWait else { return }
            memory.withLock { $0.waitNotBefore = patience.clock.now.advanced(by: Self.waitPause) }
        }

        @discardableResult
        private func scrub(deadline: MonotonicInstant) -> Bool {
            let isDone = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, deadline: deadline)
            if isDone { memory.withLock { $0.mustScrub = false } }
            return isDone
        }

        private static let waitPause = Duration.seconds(5)

        /// Writes back what of the log nobody needs any more, without waiting for anybody.
        func checkpoint() { _ = checkpoint(SQLITE_CHECKPOINT_PASSIVE, deadline: MonotonicInstant(nanoseconds: .min)) }

        private func checkpoint(_ mode: Int32, deadline: MonotonicInstant) -> Bool {
            patience.deadline.withLock { $0 = deadline }
            return queue.writeWithoutTransaction { database in
                guard let handle = database.sqliteConnection else { return false }
                // The log goes by the database's name: if another file has that by now, the log is the other one's.
                var hasMoved: Int32 = 1
                guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK, hasMoved == 0 else {
                    return false
                }
                return sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil) == SQLITE_OK
            }
        }

        /// Empties the log and closes the connection.
        func close(deadline: MonotonicInstant) {
            scrub(deadline: deadline)
            abandon()
        }

        /// Closes the connection and leaves the log alone.
        func abandon() {
            queue.writeWithoutTransaction { _ in
                memory.withLock { memory in
                    memory.tools?.finder.finish()
                    memory.tools?.statements.finish()
                    memory.tools = nil
                }
            }
            // What is acknowledged is in the database or in its log; a connection that does not close leaves both as they are.
            try? queue.close()
        }
    }

    extension DatabaseWriter {
        /// The rows, inside one transaction.
        final class Rows {
            let finder: RowFinder
            let statements: WriterStatements
            /// The header as it stands in this transaction.
            var header: DatabaseHeader
            /// The labels; nil where the database has none.
            var labels: LabelWriter?
            /// Whether anything was deleted or replaced by a removal.
            var hasRemoved = false
            /// How many rows have moved to another place.
            private(set) var moves = 0

            fileprivate init(_ tools: Tools, _ header: DatabaseHeader) throws(BackendError) {
                finder = tools.finder
                statements = tools.statements
                self.header = header
                if header.isIndexed { labels = try LabelWriter(statements) }
            }

            /// Puts a row where its slot belongs: at its home, or the next free place above it.
            func insert(_ slot: [UInt8], version: Int64, sealed: [UInt8]) throws(BackendError) {
                var id = RowFinder.home(of: slot)
                while try standing(at: id) != nil { id += 1 }
                do throws(SQLiteFault) { try statements.insertRow(id, slot, version, sealed) } catch { throw error.backendError() }
            }

            /// Replaces what stands at a place.
            func replace(_ id: Int64, _ slot: [UInt8], version: Int64, sealed: [UInt8]) throws(BackendError) {
                do throws(SQLiteFault) { try statements.replaceRow(id, slot, version, sealed) } catch { throw error.backendError() }
            }

            /// Removes every row of a slot. There is one, unless somebody else has put an older one beside it.
            func deleteAll(_ slot: [UInt8]) throws(BackendError) { try deleteOthers(slot, above: RowFinder.home(of: slot) - 1) }

            /// Removes every row of a slot above a place.
            func deleteOthers(_ slot: [UInt8], above id: Int64) throws(BackendError) {
                var next = id + 1
                while let row = try standing(at: next) {
                    if row.slot == slot { try delete(at: next) } else { next += 1 }
                }
            }

            /// Empties a place, and moves back what had been pushed up by it.
            func delete(at id: Int64) throws(BackendError) {
                do throws(SQLiteFault) { try statements.deleteRow(id) } catch { throw error.backendError() }
                hasRemoved = true
                var (gap, next) = (id, id + 1)
                while let row = try standing(at: next) {
                    if row.home <= gap {
                        do throws(SQLiteFault) { try statements.moveRow(next, to: gap) } catch { throw error.backendError() }
                        moves += 1
                        gap = next
                    }
                    next += 1
                }
            }

            private struct Standing {
                let slot: [UInt8]?
                let home: Int64
            }

            /// What stands at a place; a row without a slot is at home where it is, so that it stays. Nil where none is.
            private func standing(at id: Int64) throws(BackendError) -> Standing? {
                do throws(SQLiteFault) {
                    return try finder.row(at: id) { row in
                        Standing(slot: row.slot.map { Array($0) }, home: row.slot.map(RowFinder.home) ?? id)
                    }
                } catch {
                    throw error.backendError()
                }
            }
        }
    }
#endif
