#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Sealing
    import Synchronization

    /// The one connection that writes. Called on the store's lane, with the store's lock held.
    final class DatabaseWriter: Sendable {
        /// The file that is written to.
        let file: DatabaseFile.FileID
        private let state: Mutex<State>
        private let patience: Patience
        private let randomBytes: @Sendable (Int) -> [UInt8]
        private let follower: AnchorFollower?

        /// A connection with its statements.
        fileprivate struct Tools {
            let connection: Connection
            let finder: RowFinder
            let statements: WriterStatements
        }

        /// `@unchecked Sendable`: connection and statements are used only while the mutex is held, and nothing else refers to them.
        private struct State: @unchecked Sendable {
            /// Nil once the connection is closed.
            var tools: Tools?
            /// What `PRAGMA data_version` said when the database was last checked, and its header then.
            var checked: (version: Int, header: DatabaseHeader)?
            /// The sealed state after this connection's last transaction.
            var known: KnownState?
            /// What `PRAGMA data_version` says while that is the stored state; nil where it may be another.
            var knownVersion: Int?
            /// Whether a transaction has begun that the next call of ``transaction(deadline:keyset:_:)`` takes over.
            var isBegun = false
            /// Whether something was deleted whose bytes are still in the log.
            var mustScrub = false
            /// Until then the log is emptied only if no reader has to be waited for.
            var waitNotBefore = MonotonicInstant(nanoseconds: .min)
        }

        /// How long SQLite may wait for programs that do not take the store's lock.
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

        /// Opens a database that exists.
        /// - Parameters:
        ///   - hasLog: Whether there is a log that a killed process may have left: what that removed may still be in it.
        ///   - follower: Follows the commits with a freshness anchor; nil where there is none.
        init(
            path: String, file: DatabaseFile.FileID, runtime: Runtime, deadline: MonotonicInstant, hasLog: Bool,
            follower: AnchorFollower?
        ) throws(BackendError) {
            self.file = file
            self.follower = follower
            randomBytes = runtime.randomBytes
            let patience = Patience(runtime.clock, deadline)
            self.patience = patience
            let connection: Connection
            do throws(SQLiteFault) { connection = try Connection(path: path) { patience.wait() } } catch { throw error.backendError() }
            // Nothing is changed in a file that is not one of ours.
            try connection.checkFormat()
            // A copy made with SQLite's own tools may have lost the mode.
            if try connection.texts("PRAGMA journal_mode") != ["wal"], try connection.texts("PRAGMA journal_mode = WAL") != ["wal"] {
                throw BackendError(.accessDenied, "The database cannot have a write-ahead log. Check the permissions of its folder.")
            }
            connection.countLogPages()
            do throws(SQLiteFault) {
                let tools = Tools(
                    connection: connection, finder: try RowFinder(connection), statements: try WriterStatements(connection))
                state = Mutex(State(tools: tools, mustScrub: hasLog))
            } catch {
                throw error.backendError()
            }
        }

        /// Works with the connection, one caller at a time.
        private func use<R: Sendable>(_ body: (Tools, inout State) throws(BackendError) -> R) throws(BackendError) -> R {
            let result = state.withLock { state -> Result<R, BackendError> in
                Result { () throws(BackendError) in
                    guard let tools = state.tools else { throw SQLiteFault(SQLITE_MISUSE).backendError() }
                    return try body(tools, &state)
                }
            }
            return try result.get()
        }

        /// Whether SQLite could open every file of the database for writing. Of the log and its index it says so only when a transaction begins.
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

        /// Begins the transaction that the next call of ``transaction(deadline:keyset:_:)`` uses. While SQLite waits here for other programs, no
        /// change has begun.
        /// - Parameter deadline: Until when other programs that keep the database busy are waited for.
        func begin(deadline: MonotonicInstant) throws(BackendError) {
            patience.deadline.withLock { $0 = deadline }
            try use { (tools, state) throws(BackendError) in
                do throws(SQLiteFault) { try tools.statements.beginTransaction() } catch { throw error.backendError() }
                state.isBegun = true
            }
        }

        /// Rolls back the transaction of ``begin(deadline:)`` if no call of ``transaction(deadline:keyset:_:)`` has used it.
        func endUnused() {
            state.withLock { state in
                guard state.isBegun else { return }
                state.isBegun = false
                state.tools?.statements.undoTransaction()
            }
        }

        /// Runs one transaction. It is committed, and durable, if `body` returns true.
        /// - Parameters:
        ///   - deadline: Until when other programs that keep the database busy are waited for.
        ///   - keyset: The keys of the current header, which it is given; nil if they are not known: then nothing is done.
        ///   - body: Works in the transaction; false undoes what it did.
        /// - Returns: The state that was committed; nil where nothing was, or there is no state to go on from.
        /// - Throws: ``BackendError``; `outcome` is `unknown` when the commit itself failed.
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
                    // Set again once this transaction is committed.
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

        /// Makes sure that nothing comes back which another process had written into the log, and not entered in its index, when it was killed. Whatever is acknowledged from now on
        /// was decided without it.
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

        /// Ends a transaction that has changed nothing. Where the log holds an unnamed transaction after the last commit, it is overwritten by a commit of the first page alone.
        private static func endUnchanged(_ tools: Tools) throws(BackendError) {
            let isUnnamed: Bool
            do throws(SQLiteFault) { isUnnamed = try tools.connection.hasUnnamedTransaction() } catch { throw error.backendError() }
            guard isUnnamed else { return tools.statements.undoTransaction() }
            // What was changed and undone by one of several calls is not to be committed.
            tools.statements.undoTransaction()
            do throws(SQLiteFault) {
                try tools.statements.beginTransaction()
                // The number stays the same. Its page is written all the same, and takes the place of the frames.
                try tools.connection.execute("PRAGMA user_version = \(DatabaseFormat.number)")
            } catch {
                throw error.backendError()
            }
            do throws(SQLiteFault) { try tools.statements.commitTransaction() } catch { throw error.backendError(isCommit: true) }
        }

        /// What a commit that failed has come to. Its frames may be in the log: unless they are overwritten, a later recovery plays them back.
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

        /// Forgets the state of the last transaction, so that an older one is accepted.
        func forgetState() { state.withLock { ($0.known, $0.knownVersion) = (nil, nil) } }

        /// The header, once the database was found to be what it should be. It is checked again only after another connection has written.
        private static func checkedHeader(_ tools: Tools, _ state: inout State) throws(BackendError) -> DatabaseHeader {
            let version: Int
            do throws(SQLiteFault) { version = try tools.statements.dataVersion() } catch { throw error.backendError() }
            if let (checked, header) = state.checked, checked == version { return header }
            try tools.connection.checkFormat()
            let header = try DatabaseHeader(reading: tools.connection)
            state.checked = (version, header)
            return header
        }

        /// What `PRAGMA data_version` says: another number after another connection's commit.
        func dataVersion() throws(BackendError) -> Int {
            try use { (tools, _) throws(BackendError) in
                do throws(SQLiteFault) { return try tools.statements.dataVersion() } catch { throw error.backendError() }
            }
        }

        // MARK: The log

        /// How many pages the log may hold before it is written back: 4 MiB.
        static let logLimit: Int32 = 1_024

        /// Whether the log holds more than that.
        var isLogLong: Bool { state.withLock { ($0.tools?.connection.logPages ?? 0) > Self.logLimit } }

        /// Writes the log back into the database and empties it, if bytes of something that was removed are in it.
        ///
        /// Readers of an older state are waited for until the deadline. If that does not help, every commit tries again, but does not wait
        /// for a while: one reader elsewhere must not make every change slow.
        func scrubIfNeeded(deadline: MonotonicInstant) {
            let now = patience.clock.now
            guard let canWait = state.withLock({ $0.mustScrub ? $0.waitNotBefore <= now : nil }) else { return }
            guard !scrub(deadline: canWait ? deadline : MonotonicInstant(nanoseconds: .min)), canWait else { return }
            state.withLock { $0.waitNotBefore = patience.clock.now.advanced(by: Self.waitPause) }
        }

        /// Writes the log back and empties it, if bytes of something that was removed are in it.
        /// - Parameter deadline: Until when readers of an older state are waited for.
        /// - Returns: Whether nothing of it is left. If something is, every commit tries again.
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

        /// Writes back the part of the log that no reader needs. Waits for no reader.
        func checkpoint() {
            patience.deadline.withLock { $0 = MonotonicInstant(nanoseconds: .min) }
            state.withLock { _ = $0.tools?.connection.checkpoint(isEmptied: false) }
        }

        /// Empties the log and closes the connection.
        func close(deadline: MonotonicInstant) {
            _ = scrub(deadline: deadline)
            abandon()
        }

        /// Closes the connection and leaves the log as it is. What was acknowledged is in the database or in its log.
        func abandon() {
            state.withLock { state in
                state.tools?.connection.close()
                state.tools = nil
            }
        }
    }
#endif
