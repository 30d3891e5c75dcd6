#if SQLite
    package import BackendContract
    import BackendRuntime
    import Sealing

    /// The check of a whole database, and the acceptance of its current content.
    extension SQLiteStore: VerifiableStore {
        /// Opens every row in one read transaction. Compares all rows with the sealed state, which has their number and
        /// a keyed sum over them. Compares the entries of every label (the index for queries) with their count. The
        /// check runs on the lane for lists, and continues as long as it makes progress. Until it ends, the write-ahead
        /// log cannot be emptied.
        /// - Throws: ``BackendError``: `locked` and other errors of the key, `rolledBack`, `corrupted` for a damaged
        ///   file.
        package func verifyIntegrity(
            progress: @escaping @Sendable (IntegrityProgress) -> Void
        ) async throws(BackendError) -> IntegrityReport? {
            try await scanning(isPatient: true) { (file, session, isWanted) throws(BackendError) in
                try file.scanner.check(session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted, progress: progress)
            }
        }

        /// Rebuilds the sealed state and all labels from the header, keys and rows in the file, in one transaction
        /// under the lock.
        package func acceptContents() async throws(BackendError) {
            try file.requireUnlocked()
            let (file, deadline) = (file, nextDeadline)
            while let found = try await onLane(deadline, { () throws(BackendError) in try file.find(deadline: deadline) }) {
                let keyset = try await keyset(of: found.header, in: context)
                try await requireNotOlder(found, keyset, deadline)
                let done = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) { (call) throws(BackendError) in
                    try file.rewriteState(found.file, found.header, keyset, deadline: call.deadline) { (rows) throws(BackendError) in
                        try rows.rebuildState(above: 0)
                        try rows.rebuildLabels(rows.keyset)
                    }
                }
                if done != nil { return }
            }
        }

        /// Compares the database with its freshness anchor, a record of the latest state outside the file. Throws
        /// `rolledBack` if the database is older. The same check is made when a database is opened.
        func requireNotOlder(
            _ found: DatabaseFile.Found, _ keyset: Keyset, _ deadline: MonotonicInstant
        ) async throws(BackendError) {
            guard let follower = file.follower else { return }
            let expected = try await expectedMark(deadline: deadline)
            let state = found.openedState(keyset)
            try follower.check(
                expected, database: found.header.database, mark: state.map { keyset.active.mark(of: $0) },
                isAnchored: state?.isAnchored == true)
        }
    }

    /// The freshness anchor, which records the latest state outside the database.
    extension SQLiteStore: AnchoredStore {
        /// Accepts the current file as the latest one. The sealed state contains the number of transactions that were
        /// committed. This number is raised above the number in the anchor, and then the anchor is updated. If the
        /// sealed state does not open, it is rebuilt from the rows.
        package func acceptOlderFile() async throws(BackendError) {
            guard let follower = file.follower else {
                throw BackendError(.unsupported, "The database has no freshness anchor, so no file is older than it. Nothing was changed.")
            }
            try await follower.accept { (expected) throws(BackendError) in try await self.commit(above: expected?.commits ?? 0) }
        }

        /// Writes the sealed state again, and makes its number of commits greater than a given number. If the sealed
        /// state in the database does not open, it is rebuilt from the rows.
        /// - Parameter commits: The number of commits that the anchor records.
        /// - Returns: The mark of the new state, for the anchor to record.
        func commit(above commits: Int64) async throws(BackendError) -> FreshnessMark {
            let (file, deadline) = (file, nextDeadline)
            while true {
                let found = try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline) }
                guard let found else {
                    throw BackendError(
                        .unavailable,
                        "There is no database here. Put the file here first, or remove the anchor to start with an empty database; nothing was changed."
                    )
                }
                let keyset = try await keyset(of: found.header, in: context)
                let known = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) {
                    (call) throws(BackendError) in
                    try file.rewriteState(found.file, found.header, keyset, deadline: call.deadline) { (rows) throws(BackendError) in
                        if rows.state.current == nil { try rows.rebuildState(above: commits) } else { rows.state.raise(above: commits) }
                    }
                }
                if let known { return keyset.active.mark(of: known.state) }
            }
        }
    }

    extension DatabaseFile {
        /// Commits a change of the sealed state. Returns nil if file or header have changed.
        fileprivate func rewriteState(
            _ file: FileID, _ header: DatabaseHeader, _ keyset: Keyset, deadline: MonotonicInstant,
            _ change: (DatabaseWriter.Rows) throws(BackendError) -> Void
        ) throws(BackendError) -> KnownState? {
            try locked(deadline: deadline) { () throws(BackendError) -> KnownState? in
                guard let writer = try writer(deadline: deadline) else { return nil }
                writer.forgetState()
                let known = try writer.transaction(deadline: deadline) { current in
                    file == writer.file && header == current ? keyset : nil
                } _: { (rows) throws(BackendError) in
                    try change(rows)
                    return true
                }
                if known != nil { try confirm(writer.file) }
                return known
            }
        }
    }

    extension DatabaseWriter.Rows {
        /// Rebuilds the sealed state from the rows.
        /// - Parameter commits: The number of commits in the state becomes at least this number.
        func rebuildState(above commits: Int64) throws(BackendError) {
            do throws(SQLiteFault) { try finder.database.execute("DELETE FROM state") } catch { throw error.backendError() }
            var sum = CountedSum()
            try finder.database.rows("SELECT slot, version, sealed FROM records") { (statement) throws(BackendError) in
                if let term = RawRow(statement, firstColumn: 0).term(keyset) { sum.add(term) }
            }
            state.begin(with: sum, above: commits)
        }
    }
#endif
