#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// Finds, opens, writes and closes the file of a database. Everything here may block, and is called only on the
    /// store's lane (a serial queue), except ``session`` and ``isCurrent(_:_:)``. The log is SQLite's write-ahead log.
    ///
    /// All connections are open on the same file. Before another file of the same name is opened, every connection to
    /// the first one is closed. Otherwise both files would share one log and SQLite's locks.
    final class DatabaseFile: Sendable {
        /// The identity of a file. A file that replaces another one has the same name but another identity.
        struct FileID: Hashable, Sendable {
            let device: UInt64
            let inode: UInt64
        }

        /// A database that was found, with everything that can be read without a key.
        ///
        /// `@unchecked Sendable`: the connection is used on the lane only, by one task at a time.
        struct Found: @unchecked Sendable {
            let file: FileID
            let header: DatabaseHeader
            /// The sealed state: the encrypted number of commits and sum over all rows. Nil if the database contains
            /// none.
            let state: [UInt8]?
            /// A connection for reading, used on the lane until a session (an open database with its keys) takes it.
            let connection: Connection

            /// Returns the decrypted state; nil if it is missing or does not open.
            func openedState(_ keyset: Keyset) -> CommitState? { state.flatMap { keyset.active.openState($0) } }

            /// Checks that header and keys are those of the last commit, whose header tag is in the sealed state. If
            /// another program put older key tables back, the check fails.
            /// - Throws: ``BackendError`` with `corrupted`.
            func requireCurrentKeys(_ state: CommitState?) throws(BackendError) {
                guard state?.header == header.tag else {
                    throw BackendError(
                        .corrupted,
                        "The keys of the database are not those of its last commit: its tables were damaged, or older ones were put back. Restore the file from a backup, or accept its present state with StorageRouter.acceptContents(of:). Nothing was changed."
                    )
                }
            }
        }

        /// `@unchecked Sendable`: it is accessed through the mutex, and its content is used on the lane only.
        private struct State: @unchecked Sendable {
            var found: Found?
            var writer: DatabaseWriter?
        }

        let path: String
        let lockPath: String
        let runtime: Runtime
        let lane: any Lane
        /// Lists rows, on a separate lane.
        let scanner: DatabaseScanner
        /// Compares the database with its freshness anchor, which records the latest state outside the file; nil if the
        /// database has no anchor.
        let follower: AnchorFollower?
        private let state = Mutex(State())
        private let openSession = Mutex<DatabaseSession?>(nil)
        /// Whether a flush of the log has failed, so that pages of the log may never get to the disk.
        private let hasLostPages = Atomic(false)
        /// Whether the program has locked the database. Then no session is opened or used.
        private let lockFlag = Atomic(false)

        var files: any FileSystem { runtime.files }
        var clock: any RuntimeClock { runtime.clock }

        init(path: String, lockPath: String, lane: any Lane, runtime: Runtime, follower: AnchorFollower? = nil) {
            (self.path, self.lockPath, self.runtime, self.lane, self.follower) = (path, lockPath, runtime, lane, follower)
            scanner = DatabaseScanner(path: path)
        }

        /// The open database; nil while it is closed or locked. This property may be read on any thread.
        var session: DatabaseSession? { isLocked ? nil : openSession.withLock(\.self) }

        /// Whether the program has locked the database.
        var isLocked: Bool { lockFlag.load(ordering: .acquiring) }

        /// Locks or unlocks the database for this program.
        /// - Returns: Whether it was locked before.
        @discardableResult
        func setLocked(_ isLocked: Bool) -> Bool { lockFlag.exchange(isLocked, ordering: .acquiringAndReleasing) }

        /// Whether data keys are in memory.
        var holdsKeys: Bool { openSession.withLock { $0 != nil } }

        func requireUnlocked() throws(BackendError) {
            guard isLocked else { return }
            throw BackendError(.locked, "The program has locked the database. Unlock it and try again; nothing was changed.")
        }

        /// How long a file that was found at the path is assumed to stay there. A read with the freshness `validated`
        /// accepts a result from a cache that was checked against the store. After this time, such a read checks again
        /// whether the database file was replaced.
        /// Reason: "A replaced file is detected by one stat, and never written" in Docs/Decisions/Database.md.
        private static let trust = Duration.milliseconds(100)

        /// Returns whether the database is unlocked and a session's file is still at the path. Calls `stat` at most
        /// once, and may be called on any thread.
        func isCurrent(_ session: DatabaseSession, _ freshness: ReadFreshness = .fresh) -> Bool {
            let now = clock.now
            if freshness == .validated, now.nanoseconds < session.trustedUntil.load(ordering: .relaxed) { return true }
            guard !isLocked, let status = try? files.status(path), FileID(status) == session.file else { return false }
            session.trustedUntil.store(now.advanced(by: Self.trust).nanoseconds, ordering: .relaxed)
            return true
        }

        // MARK: Finding

        /// Finds the database. Returns nil only if the database certainly does not exist.
        /// - Parameter deadline: When to stop waiting for another process that keeps SQLite from reading.
        func find(deadline: MonotonicInstant) throws(BackendError) -> Found? {
            try retryingWhileBusy(deadline: deadline) { () throws(BackendError) in try look() }
        }

        /// Repeats work until the deadline while SQLite is busy, because another process is opening, closing or
        /// repairing the database.
        func retryingWhileBusy<R>(deadline: MonotonicInstant, _ work: () throws(BackendError) -> R) throws(BackendError) -> R {
            while true {
                do throws(BackendError) { return try work() } catch {
                    guard error.code == .timedOut, clock.now < deadline else { throw error }
                    clock.pause(.milliseconds(1))
                }
            }
        }

        private func look() throws(BackendError) -> Found? {
            let file = try fileID()
            keepOnly(file)
            guard let file else { return nil }
            if let known = state.withLock(\.found) {
                let again = try read(file, known.connection)
                state.withLock { $0.found = again }
                return again
            }
            try requireTrust()
            let connection = try onDatabase { () throws(SQLiteFault) in try Connection.reading(path) }
            // The first read opens the log of the file that is at the path then. If that is another file, what was read is worth nothing.
            let result = Result { () throws(BackendError) in try read(file, connection) }
            guard try fileID() == file else {
                throw BackendError(.timedOut, "The database was replaced while it was opened. Nothing was changed; try again.")
            }
            let found = try result.get()
            // A locked file keeps no connection: a call that began before the lock may get here after it.
            if !isLocked { state.withLock { $0.found = found } }
            return found
        }

        private func read(_ file: FileID, _ connection: Connection) throws(BackendError) -> Found {
            // Read everything in one transaction, so that it belongs to one state of the file.
            let (header, state) = try connection.inReadTransaction { () throws(BackendError) in
                let (entries, length) = try connection.checkFormat()
                try checkLength(length)
                let header = try DatabaseHeader(reading: connection, entries: entries)
                return (header, try connection.bytes(DatabaseFormat.stateQuery))
            } _: {
                $0.backendError()
            }
            return Found(file: file, header: header, state: state, connection: connection)
        }

        /// Checks that the file is as long as its header states, unless the rest may be in the log. SQLite would read
        /// an incomplete page as if it were complete.
        private func checkLength(_ length: Int) throws(BackendError) {
            let file = try onFiles { (files) throws(FileError) in try files.status(path) }
            guard let file, file.size < length, try !hasLog() else { return }
            throw BackendError(.corrupted, "The database \(path) was cut off. Restore it from a backup; nothing was changed.")
        }

        /// Returns the file at the path without checking the files beside it. That is enough if the file is already
        /// open.
        func fileAtPath() throws(BackendError) -> FileID? {
            do throws(FileError) { return try files.status(path).map(FileID.init) } catch { throw error.backendError() }
        }

        /// Returns the file at the path; nil if there is neither a database nor a log with content.
        /// - Throws: ``BackendError`` with `unavailable` if a symbolic link to a missing target leads to the path, and
        ///   other errors.
        func fileID() throws(BackendError) -> FileID? {
            let (file, log, journal) = try onFiles { (files) throws(FileError) in
                (try files.status(path), try files.status(path + "-wal"), try files.status(path + "-journal"))
            }
            // SQLite would apply a rollback journal before it reads the database, and delete a file that the journal
            // names.
            if let journal, journal.size > 0 || !journal.isRegular {
                throw BackendError(
                    .corrupted,
                    "There is a rollback journal beside the database \(path). This library never leaves one, so another program put it there: move it away, or restore the folder from a backup. Nothing was changed."
                )
            }
            if let log, !log.isRegular {
                throw BackendError(.corrupted, "The log of the database \(path) is not a file. Move it away; nothing was changed.")
            }
            guard let file else {
                guard log?.size ?? 0 == 0 else {
                    throw BackendError(
                        .corrupted,
                        "The database \(path) is missing, but its log \(lastComponent(of: path))-wal is there and holds data. Restore the database from a backup, or move the log away; nothing was changed."
                    )
                }
                try files.requireNoBrokenLink(to: path)
                return nil
            }
            guard file.isRegular, file.size > 0 else {
                throw BackendError(
                    .corrupted,
                    "The database \(path) is empty or not a file. Restore it from a backup, or move it away; nothing was changed.")
            }
            return FileID(file)
        }

        /// Checks that only the user and root can change the database, the files beside it, and the lock files of
        /// writers.
        func requireTrust() throws(BackendError) {
            try files.requireTrust(in: [path, path + "-wal", path + "-shm", lockPath, Self.neighborLock(of: path)])
        }

        // MARK: Opening

        /// Opens a session with the keys of a database that was found. Returns nil if its connection was closed
        /// since, or if a database with another file or header was found since.
        func open(_ found: Found, _ keyset: Keyset, deadline: MonotonicInstant) throws(BackendError) -> DatabaseSession? {
            try retryingWhileBusy(deadline: deadline) { () throws(BackendError) in try open(found, keyset) }
        }

        private func open(_ found: Found, _ keyset: Keyset) throws(BackendError) -> DatabaseSession? {
            // The database may be locked by a call that runs at the same time. That call also closes the session on the
            // lane: either this has happened already, or it happens after this work.
            try requireUnlocked()
            if let known = session, known.file == found.file, known.header == found.header { return known }
            guard let there = state.withLock(\.found), there.file == found.file, there.header == found.header else { return nil }
            // The connection that found the database becomes the session's first connection for reading.
            let made = try DatabaseSession(there, keyset) { [weak self] () throws(BackendError) in
                // This object owns the session. If the session had a strong reference to this object, neither would be
                // released, and the connections would stay open.
                guard let self else { throw BackendError(.unavailable, "The database was closed. Try again.") }
                return try secondConnection(there.file)
            }
            state.withLock { $0.found = nil }
            let older = openSession.withLock { session in
                defer { session = made }
                return session
            }
            // Close the session that the new one replaces, because its keys are outdated.
            older?.close()
            return made
        }

        private func secondConnection(_ file: FileID) throws(BackendError) -> Connection {
            let connection = try onDatabase { () throws(SQLiteFault) in try Connection.reading(path) }
            try connection.checkFormat()
            guard try fileID() == file else {
                throw BackendError(.unavailable, "The database was replaced by another file. Try again.")
            }
            return connection
        }

        /// Returns the connection that writes to the file at the path; nil if there is no file.
        func writer(deadline: MonotonicInstant) throws(BackendError) -> DatabaseWriter? {
            if let known = state.withLock(\.writer), try fileAtPath() == known.file {
                if hasLostPages.load(ordering: .acquiring) { try rewriteLog(known, deadline: deadline) }
                return known
            }
            let file = try fileID()
            keepOnly(file)
            guard let file else { return nil }
            try requireTrust()
            do throws(FileError) { try removeDrafts() } catch { throw error.backendError() }
            let writer = try writableWriter(file, deadline: deadline)
            // The log exists now, so make its name durable. SQLite ignores a failed flush of the folder, and does not
            // flush the folders above it.
            do throws(FileError) { try files.synchronizeDirectory(parentDirectory(of: path)) } catch { throw error.backendError() }
            // Reason: "The log is written again before the first commit" in Docs/Decisions/LocksAndCommits.md.
            try rewriteLog(writer, deadline: deadline)
            state.withLock { $0.writer = writer }
            return writer
        }

        /// Writes the log again, so that all of its pages are on the disk.
        private func rewriteLog(_ writer: DatabaseWriter, deadline: MonotonicInstant) throws(BackendError) {
            guard try hasLog() else { return }
            try writer.withoutOtherWriters(deadline: deadline) { () throws(BackendError) in
                do throws(FileError) { try files.rewrite(path + "-wal") } catch { throw error.backendError() }
            }
            hasLostPages.store(false, ordering: .releasing)
        }

        /// Makes the log durable. If that fails, the next writer writes the log again.
        func synchronizeLog() throws(FileError) {
            do throws(FileError) { if try files.status(path + "-wal") != nil { try files.synchronizeFile(path + "-wal") } } catch {
                hasLostPages.store(true, ordering: .releasing)
                throw error
            }
        }

        /// Opens a connection that can write. SQLite opens a file read-only if it cannot open it for writing. Further
        /// connections of this process then use the same read-only file. In this case this call closes all connections
        /// and opens the file once more.
        private func writableWriter(_ file: FileID, deadline: MonotonicInstant) throws(BackendError) -> DatabaseWriter {
            for isLast in [false, true] {
                let writer = try DatabaseWriter(
                    path: path, file: file, runtime: runtime, deadline: deadline, hasLog: try hasLog(), follower: follower)
                do throws(BackendError) {
                    if try writer.isWritable() { return writer }
                } catch {
                    writer.abandon()
                    throw error
                }
                writer.abandon()
                if !isLast { closeAll { $0.abandon() } }
            }
            throw readOnly
        }

        private var readOnly: BackendError {
            if let file = [path, path + "-wal", path + "-shm"].first(where: { !Connection.mayWrite($0) }) {
                return BackendError(
                    .accessDenied,
                    "The database cannot be written: the file \(file) can only be read. Check its owner and permissions, and that its disk is not mounted for reading only. Nothing was changed."
                )
            }
            return BackendError(
                .unavailable,
                "A file of the database \(path) could be opened only for reading, though it may be written now: too many files were open, or the disk had a fault. Nothing was changed; try again."
            )
        }

        /// The connection that writes, if it is open.
        var openWriter: DatabaseWriter? { state.withLock(\.writer) }

        /// Returns whether there is a log with content.
        func hasLog() throws(BackendError) -> Bool {
            try onFiles { (files) throws(FileError) in try files.status(path + "-wal").map { $0.size > 0 } ?? false }
        }

        // MARK: Closing

        /// Closes every connection if one of them is open on another file than the given one. Nothing is written, so no
        /// lock is needed.
        private func keepOnly(_ file: FileID?) {
            guard isAnyOpen(otherThan: file) else { return }
            // The log may already belong to the new file, so nothing is written back into the old one.
            // Reason: "A replaced file is detected by one stat, and never written" in Docs/Decisions/Database.md.
            closeAll { $0.abandon() }
        }

        private func isAnyOpen(otherThan file: FileID?) -> Bool {
            let others = state.withLock { [$0.found?.file, $0.writer?.file] } + [openSession.withLock { $0?.file }]
            return others.contains { $0 != nil && $0 != file }
        }

        private func closeAll(_ finish: (DatabaseWriter) -> Void) {
            let state = state.withLock { state in
                defer { state = State() }
                return state
            }
            let session = openSession.withLock { $0.take() }
            session?.close()
            scanner.close()
            state.found?.connection.close()
            state.writer.map(finish)
        }

        /// Whether a connection is open.
        var isOpen: Bool { isAnyOpen(otherThan: nil) }

        /// Closes every connection and writes nothing.
        func closeWithoutWriting() { keepOnly(nil) }

        /// Writes the log back into the database, empties it, and closes every connection. If another process keeps the
        /// lock until the deadline, the connections are closed and the log stays. It contains all acknowledged changes.
        func close(deadline: MonotonicInstant) {
            guard holdsKeys || state.withLock({ $0.found != nil || $0.writer != nil }) else { return }
            do throws(BackendError) {
                try locked(deadline: deadline) { () throws(BackendError) in
                    // Open the writer to empty the log. A database that was only read may also have a log, which a
                    // killed process left.
                    do throws(BackendError) { _ = try writer(deadline: deadline) } catch {
                        // A database that cannot be written is closed without writing.
                    }
                    closeAll { $0.close(deadline: deadline) }
                }
            } catch {
                closeAll { $0.abandon() }
            }
        }
    }

    extension DatabaseFile.FileID {
        init(_ status: FileStatus) { self.init(device: status.device, inode: status.inode) }
    }
#endif
