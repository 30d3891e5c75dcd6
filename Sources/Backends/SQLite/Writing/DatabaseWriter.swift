#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Sealing
    import Synchronization

    /// The only connection that writes to a database file. It is used on the store's lane (a serial queue) with the
    /// store's lock held.
    final class DatabaseWriter: Sendable {
        /// The file that the connection writes to.
        let file: DatabaseFile.FileID
        private let state: Mutex<State>
        private let patience: Patience
        private let randomBytes: @Sendable (Int) -> [UInt8]
        private let follower: AnchorFollower?

        /// A connection with its prepared statements.
        fileprivate struct Tools {
            let connection: Connection
            let finder: RowFinder
            let statements: WriterStatements
        }

        /// `@unchecked Sendable`: connection and statements are used only while the mutex is held, and nothing else
        /// refers to them.
        private struct State: @unchecked Sendable {
            /// Nil after the connection is closed.
            var tools: Tools?
            /// The value of `PRAGMA data_version` at the last check of the database, and the header that the check
            /// read.
            var checked: (version: Int, header: DatabaseHeader)?
            /// The sealed state that this connection's last transaction wrote. It has the number of commits and a sum
            /// over all rows.
            var known: KnownState?
            /// The value of `PRAGMA data_version` at which ``known`` is the stored state; nil if another state may be
            /// stored.
            var knownVersion: Int?
            /// Whether a transaction has begun that the next call of ``transaction(deadline:keyset:_:)`` uses.
            var isBegun = false
            /// Whether the write-ahead log may contain bytes of something that was deleted.
            var mustScrub = false
            /// Before this time, the log is emptied only if no reader delays that.
            var waitNotBefore = MonotonicInstant(nanoseconds: .min)
        }

        /// Limits how long SQLite waits for programs that do not take the store's lock.
        private final class Patience: Sendable {
            let clock: any RuntimeClock
            let deadline: Mutex<MonotonicInstant>

            init(_ clock: any RuntimeClock, _ deadline: MonotonicInstant) {
                self.clock = clock
                self.deadline = Mutex(deadline)
            }

            func wait() -> Bool {
                guard clock.now < deadline.withLock({ $0 }) else { return false }
                clock.pause(.milliseconds(1))
                return true
            }
        }

        /// Opens an existing database.
        /// - Parameters:
        ///   - hasLog: Whether a write-ahead log exists. A killed process may have left the log, with bytes of
        ///     something that the killed process removed.
        ///   - follower: Updates the freshness anchor, which records the latest state outside the file, after commits;
        ///     nil if the database has no anchor.
        init(
            path: String, file: DatabaseFile.FileID, runtime: Runtime, deadline: MonotonicInstant, hasLog: Bool,
            follower: AnchorFollower?
        ) throws(BackendError) {
            self.file = file
            self.follower = follower
            randomBytes = runtime.randomBytes
            let patience = Patience(runtime.clock, deadline)
            self.patience = patience
            let connection = try onDatabase { () throws(SQLiteFault) in try Connection(path: path) { patience.wait() } }
            // Check the format first, because a file of another program must not be changed.
            try connection.checkFormat()
            // A copy that was made with SQLite's own tools may have lost the journal mode.
            if try connection.texts("PRAGMA journal_mode") != ["wal"], try connection.texts("PRAGMA journal_mode = WAL") != ["wal"] {
                throw BackendError(.accessDenied, "The database cannot have a write-ahead log. Check the permissions of its folder.")
            }
            connection.countLogPages()
            let tools = try onDatabase { () throws(SQLiteFault) in
                Tools(connection: connection, finder: try RowFinder(connection), statements: try WriterStatements(connection))
            }
            state = Mutex(State(tools: tools, mustScrub: hasLog))
        }

        /// Runs work with the connection, for one caller at a time.
        private func use<R: Sendable>(_ body: (Tools, inout State) throws(BackendError) -> R) throws(BackendError) -> R {
            let result = state.withLock { state -> Result<R, BackendError> in
                Result { () throws(BackendError) in
                    guard let tools = state.tools else { throw SQLiteFault(SQLITE_MISUSE).backendError() }
                    return try body(tools, &state)
                }
            }
            return try result.get()
        }

        /// Returns whether SQLite opened every file of the database for writing. SQLite reports a read-only log or
        /// index only when a transaction begins.
        func isWritable() throws(BackendError) -> Bool {
            try use { (tools, _) throws(BackendError) in
                guard !tools.connection.isReadOnly else { return false }
                do throws(SQLiteFault) { try tools.statements.beginTransaction() } catch {
                    if error.isReadOnly { return false }
                    throw error.backendError()
                }
                tools.statements.undoTransaction()
                return true
            }
        }

        // MARK: Writing

        /// Begins the transaction that the next call of ``transaction(deadline:keyset:_:)`` uses. If SQLite has to wait
        /// for other programs, it waits here, before any change.
        /// - Parameter deadline: When to stop waiting for other programs that keep the database busy.
        func begin(deadline: MonotonicInstant) throws(BackendError) {
            patience.deadline.withLock { $0 = deadline }
            try use { (tools, state) throws(BackendError) in
                do throws(SQLiteFault) { try tools.statements.beginTransaction() } catch { throw error.backendError() }
                state.isBegun = true
            }
        }

        /// Rolls back the transaction of ``begin(deadline:)`` if no call of ``transaction(deadline:keyset:_:)`` has
        /// used it.
        func endUnused() {
            state.withLock { state in
                guard state.isBegun else { return }
                state.isBegun = false
                state.tools?.statements.undoTransaction()
            }
        }

        /// Runs one transaction. If `body` returns true, the transaction is committed and durable.
        /// - Parameters:
        ///   - deadline: When to stop waiting for other programs that keep the database busy.
        ///   - keyset: Returns the keys for the current header. If it returns nil, nothing is changed.
        ///   - body: Makes the changes. They are rolled back if it returns false.
        /// - Returns: The committed state; nil if nothing was committed, or if the database had no valid sealed state.
        /// - Throws: ``BackendError``. Its `outcome` is `unknown` if the commit failed and may have been applied.
        @discardableResult
        func transaction(
            deadline: MonotonicInstant, keyset: (DatabaseHeader) -> Keyset?, _ body: (Rows) throws(BackendError) -> Bool
        ) throws(BackendError) -> KnownState? {
            patience.deadline.withLock { $0 = deadline }
            return try use { (tools, state) throws(BackendError) in
                let statements = tools.statements
                if !state.isBegun {
                    do throws(SQLiteFault) { try statements.beginTransaction() } catch { throw error.backendError() }
                }
                state.isBegun = false
                do throws(BackendError) {
                    let header = try Self.checkedHeader(tools, &state)
                    try header.requireWritable()
                    guard let keyset = keyset(header) else {
                        try Self.endUnchanged(tools)
                        return nil
                    }
                    let version = state.checked?.version
                    let isStored = version != nil && version == state.knownVersion
                    // Until this transaction is committed, another state may be stored. The commit sets `knownVersion`
                    // again.
                    state.knownVersion = nil
                    let journal = try StateWriter(
                        statements, keyset, known: state.known, isStored: isStored, isAnchored: follower != nil)
                    let rows = try Rows(tools.finder, statements, header, keyset, journal)
                    guard try body(rows) else {
                        try Self.endUnchanged(tools)
                        return nil
                    }
                    try rows.labels?.flush(randomBytes)
                    let known = try journal.flush(
                        rows.keyset.active, header: rows.header.tag, isAnchored: follower != nil, randomBytes)
                    do throws(SQLiteFault) { try statements.commitTransaction() } catch { throw Self.failedCommit(error, tools) }
                    state.checked?.header = rows.header
                    (state.known, state.knownVersion) = (known, version)
                    state.mustScrub = state.mustScrub || rows.hasRemoved
                    if let known { follower?.note(rows.keyset.active.mark(of: known.state)) }
                    return known
                } catch {
                    statements.undoTransaction()
                    tools.connection.forgetPages()
                    throw error
                }
            }
        }

        /// Overwrites a transaction that a killed process wrote to the log but did not enter in the log's index.
        /// Recovery could apply that transaction later, although results that were returned since then did not include
        /// it.
        func settleLog(deadline: MonotonicInstant) throws(BackendError) {
            patience.deadline.withLock { $0 = deadline }
            try use { (tools, _) throws(BackendError) in
                do throws(SQLiteFault) { try tools.statements.beginTransaction() } catch { throw error.backendError() }
                do throws(BackendError) { try Self.endUnchanged(tools) } catch {
                    tools.statements.undoTransaction()
                    throw error
                }
            }
        }

        /// Runs work in a write transaction that changes nothing. So no other program writes to the log or empties it.
        func withoutOtherWriters(deadline: MonotonicInstant, _ work: () throws(BackendError) -> Void) throws(BackendError) {
            patience.deadline.withLock { $0 = deadline }
            try use { (tools, _) throws(BackendError) in
                do throws(SQLiteFault) { try tools.statements.beginTransaction() } catch { throw error.backendError() }
                defer { tools.statements.undoTransaction() }
                try work()
            }
        }

        /// Ends a transaction that has changed nothing. The log may contain a complete transaction that is not in the
        /// log's index. Then this call commits the unchanged first page, which overwrites that transaction.
        private static func endUnchanged(_ tools: Tools) throws(BackendError) {
            let isUnnamed = try onDatabase { () throws(SQLiteFault) in try tools.connection.hasUnnamedTransaction() }
            guard isUnnamed else { return tools.statements.undoTransaction() }
            // A call that failed may have made changes in this transaction. They must not be committed.
            tools.statements.undoTransaction()
            try onDatabase { () throws(SQLiteFault) in
                try tools.statements.beginTransaction()
                // SQLite writes the page that contains this number, although the number does not change.
                // Reason: "A transaction that no index names is overwritten" in Docs/Decisions/LocksAndCommits.md.
                try tools.connection.execute("PRAGMA user_version = \(DatabaseFormat.number)")
            }
            do throws(SQLiteFault) { try tools.statements.commitTransaction() } catch { throw error.backendError(isCommit: true) }
        }

        /// Overwrites the transaction that a failed commit may have left in the log, and returns the commit's error.
        /// Reason: "A failed commit is overwritten at once" in Docs/Decisions/LocksAndCommits.md.
        private static func failedCommit(_ fault: SQLiteFault, _ tools: Tools) -> BackendError {
            let failure = fault.backendError(isCommit: true)
            guard failure.outcome == .unknown else { return failure }
            tools.statements.undoTransaction()
            tools.connection.forgetPages()
            do throws(SQLiteFault) { try tools.statements.beginTransaction() } catch { return failure }
            do throws(BackendError) { try endUnchanged(tools) } catch {
                tools.statements.undoTransaction()
                return failure
            }
            return BackendError(failure.code, "\(failure.reason) Nothing was changed.", outcome: .notApplied)
        }

        /// Forgets the state of the last transaction, so that an older state is accepted.
        func forgetState() { state.withLock { ($0.known, $0.knownVersion) = (nil, nil) } }

        /// Checks the database and returns its header. The check is repeated only after another connection has written.
        private static func checkedHeader(_ tools: Tools, _ state: inout State) throws(BackendError) -> DatabaseHeader {
            let version = try onDatabase { () throws(SQLiteFault) in try tools.statements.dataVersion() }
            if let (checked, header) = state.checked, checked == version { return header }
            try tools.connection.checkFormat()
            let header = try DatabaseHeader(reading: tools.connection)
            state.checked = (version, header)
            return header
        }

        /// Returns the value of `PRAGMA data_version`, which changes with each commit of another connection.
        func dataVersion() throws(BackendError) -> Int {
            try use { (tools, _) throws(BackendError) in
                do throws(SQLiteFault) { return try tools.statements.dataVersion() } catch { throw error.backendError() }
            }
        }

        // MARK: The log

        /// The number of pages above which the log is written back: 1,024 pages are 4 MiB.
        static let logLimit: Int32 = 1_024

        /// Whether the log has more pages than ``logLimit``.
        var isLogLong: Bool { state.withLock { ($0.tools?.connection.logPages ?? 0) > Self.logLimit } }

        /// Writes the log back into the database and empties it, if it may contain bytes of something that was removed.
        ///
        /// The call waits until the deadline for readers of an older state. If the log cannot be emptied, every later
        /// commit tries again. For the next 5 seconds these attempts do not wait for readers, because one slow reader
        /// must not slow down every change.
        func scrubIfNeeded(deadline: MonotonicInstant) {
            let now = patience.clock.now
            guard let canWait = state.withLock({ $0.mustScrub ? $0.waitNotBefore <= now : nil }) else { return }
            guard !scrub(deadline: canWait ? deadline : MonotonicInstant(nanoseconds: .min)), canWait else { return }
            state.withLock { $0.waitNotBefore = patience.clock.now.advanced(by: Self.waitPause) }
        }

        /// Writes the log back and empties it, if it may contain bytes of something that was removed.
        /// - Parameter deadline: When to stop waiting for readers of an older state.
        /// - Returns: Whether no such bytes are left. If some are left, every commit tries again.
        func scrub(until deadline: MonotonicInstant) -> Bool { !state.withLock { $0.mustScrub } || scrub(deadline: deadline) }

        private static let waitPause = Duration.seconds(5)

        private func scrub(deadline: MonotonicInstant) -> Bool {
            patience.deadline.withLock { $0 = deadline }
            return state.withLock { state in
                guard state.tools?.connection.checkpoint(isEmptied: true) == true else { return false }
                state.mustScrub = false
                return true
            }
        }

        /// Writes back the part of the log that no reader needs. Does not wait for readers, unless the log has four times
        /// ``logLimit`` pages: while reads overlap, SQLite does not begin the log again. Then the call empties the log.
        /// - Parameter deadline: When to stop waiting for readers. After an attempt that failed, none waits for 5 seconds.
        func checkpoint(deadline: MonotonicInstant) {
            let now = patience.clock.now
            let mustWait = state.withLock { ($0.tools?.connection.logPages ?? 0) > 4 * Self.logLimit && $0.waitNotBefore <= now }
            if mustWait {
                if !scrub(deadline: deadline) { state.withLock { $0.waitNotBefore = patience.clock.now.advanced(by: Self.waitPause) } }
            } else {
                patience.deadline.withLock { $0 = MonotonicInstant(nanoseconds: .min) }
                state.withLock { _ = $0.tools?.connection.checkpoint(isEmptied: false) }
            }
        }

        /// Tries to empty the log, and closes the connection.
        func close(deadline: MonotonicInstant) {
            _ = scrub(deadline: deadline)
            abandon()
        }

        /// Closes the connection and leaves the log unchanged. Acknowledged changes are in the database or in its log.
        func abandon() {
            state.withLock { state in
                state.tools?.connection.close()
                state.tools = nil
            }
        }
    }
#endif
