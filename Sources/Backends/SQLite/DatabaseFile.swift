#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// The database on the disk: found, opened, written and closed. Everything here may block and is called on the store's lane only,
    /// except ``session`` and ``isCurrent(_:)``.
    ///
    /// All connections are to one file. Before another file of the same name is opened, every connection to the first is closed: two
    /// files would share one log, and SQLite's locks with it.
    final class DatabaseFile: Sendable {
        /// A file's identity: another file may get the same name.
        struct FileID: Hashable, Sendable {
            let device: UInt64
            let inode: UInt64
        }

        /// A database that was found, with the part that can be read without a key.
        ///
        /// `@unchecked Sendable`: the connection is used on the lane only, by one piece of work at a time.
        struct Found: @unchecked Sendable {
            let file: FileID
            let header: DatabaseHeader
            /// The sealed state; nil where there is none.
            let state: [UInt8]?
            /// A connection for reading, used on the lane until a session takes it.
            let connection: Connection

            /// The state, opened; nil where there is none, or it does not open.
            func openedState(_ keyset: Keyset) -> CommitState? { state.flatMap { keyset.active.openState($0) } }

            /// Checks with the opened state that header and keys are those of the last commit: older tables that were put back are refused.
            /// - Throws: ``BackendError`` with `corrupted`.
            func requireCurrentKeys(_ state: CommitState?) throws(BackendError) {
                guard state?.header == header.tag else {
                    throw BackendError(
                        .corrupted,
                        "The keys of the database are not those of its last commit: its tables were damaged, or older ones were put back. Restore the file from a backup, or take it as it is on purpose with StorageRouter.acceptContents(of:). Nothing was changed."
                    )
                }
            }
        }

        /// `@unchecked Sendable`: it is reached through the mutex, and what is in it is used on the lane only.
        private struct State: @unchecked Sendable {
            var found: Found?
            var writer: DatabaseWriter?
        }

        let path: String
        let lockPath: String
        let runtime: Runtime
        let lane: any Lane
        /// Lists rows, on a lane of its own.
        let scanner: DatabaseScanner
        /// Compares the database with its freshness anchor; nil where it has none.
        let follower: AnchorFollower?
        private let state = Mutex(State())
        private let openSession = Mutex<DatabaseSession?>(nil)
        /// Whether the program has locked the database: no session is opened or used.
        private let lockFlag = Atomic(false)

        var files: any FileSystem { runtime.files }
        var clock: any RuntimeClock { runtime.clock }

        init(path: String, lockPath: String, lane: any Lane, runtime: Runtime, follower: AnchorFollower? = nil) {
            self.path = path
            self.lockPath = lockPath
            self.runtime = runtime
            self.lane = lane
            self.follower = follower
            scanner = DatabaseScanner(path: path)
        }

        /// The open database, if there is one that may be used; may be read on any thread.
        var session: DatabaseSession? { isLocked ? nil : openSession.withLock(\.self) }

        /// Whether the program has locked the database.
        var isLocked: Bool { lockFlag.load(ordering: .acquiring) }

        /// - Returns: Whether it was locked before.
        @discardableResult
        func setLocked(_ isLocked: Bool) -> Bool { lockFlag.exchange(isLocked, ordering: .acquiringAndReleasing) }

        /// Whether there are keys in memory.
        var holdsKeys: Bool { openSession.withLock { $0 != nil } }

        func requireUnlocked() throws(BackendError) {
            guard isLocked else { return }
            throw BackendError(.locked, "The program has locked the database. Unlock it and try again; nothing was changed.")
        }

        /// How long a file that was found at its path is assumed to be there still. After that, validated reads too notice that a database
        /// was replaced.
        private static let trust = Duration.milliseconds(100)

        /// Whether a session's file is still at the path: at most one `stat`, which any thread may make.
        func isCurrent(_ session: DatabaseSession, _ freshness: ReadFreshness = .fresh) -> Bool {
            let now = clock.now
            if freshness == .validated, now.nanoseconds < session.trustedUntil.load(ordering: .relaxed) { return true }
            guard let status = try? files.status(path), FileID(status) == session.file else { return false }
            session.trustedUntil.store(now.advanced(by: Self.trust).nanoseconds, ordering: .relaxed)
            return true
        }

        // MARK: Finding

        /// The database, if there is one; nil when it is proven that there is none.
        /// - Parameter deadline: Until when another process is waited for that keeps SQLite from reading.
        func find(deadline: MonotonicInstant) throws(BackendError) -> Found? {
            try retryingWhileBusy(deadline: deadline) { () throws(BackendError) in try look() }
        }

        /// Repeats work, until the deadline, while another process that is opening, closing or repairing the database keeps SQLite busy.
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
            let connection: Connection
            do throws(SQLiteFault) { connection = try Connection.reading(path) } catch { throw error.backendError() }
            guard try fileID() == file else {
                throw BackendError(.timedOut, "The database was replaced while it was opened. Nothing was changed; try again.")
            }
            let found = try read(file, connection)
            state.withLock { $0.found = found }
            return found
        }

        private func read(_ file: FileID, _ connection: Connection) throws(BackendError) -> Found {
            // One state of the file for all of it.
            let (header, state) = try connection.inReadTransaction { () throws(BackendError) in
                try connection.checkFormat()
                try checkLength(connection)
                let header = try DatabaseHeader(reading: connection)
                return (header, try connection.bytes(DatabaseFormat.stateQuery))
            } _: {
                $0.backendError()
            }
            return Found(file: file, header: header, state: state, connection: connection)
        }

        /// Checks that the file is as long as its header says, unless the rest may be in the log. SQLite reads a part of a page as if it
        /// were whole.
        private func checkLength(_ connection: Connection) throws(BackendError) {
            let length = try connection.number("PRAGMA page_count") * connection.number("PRAGMA page_size")
            let file: FileStatus?
            do throws(FileError) { file = try files.status(path) } catch { throw error.backendError() }
            guard let file, file.size < length, try !hasLog() else { return }
            throw BackendError(.corrupted, "The database \(path) was cut off. Restore it from a backup; nothing was changed.")
        }

        /// The file at the path, without checking the files beside it: enough where it is open already.
        func fileAtPath() throws(BackendError) -> FileID? {
            do throws(FileError) { return try files.status(path).map(FileID.init) } catch { throw error.backendError() }
        }

        /// The file at the path; nil when there is none, and none has left its log behind.
        func fileID() throws(BackendError) -> FileID? {
            let (file, log, journal): (FileStatus?, FileStatus?, FileStatus?)
            do throws(FileError) {
                file = try files.status(path)
                log = try files.status(path + "-wal")
                journal = try files.status(path + "-journal")
            } catch {
                throw error.backendError()
            }
            // SQLite would play back any such journal, and remove a file that it names, before it reads the database.
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
                return nil
            }
            guard file.isRegular, file.size > 0 else {
                throw BackendError(
                    .corrupted,
                    "The database \(path) is empty or not a file. Restore it from a backup, or move it away; nothing was changed.")
            }
            return FileID(file)
        }

        /// Checks that nobody but the user and root can change the database, the files beside it, and the lock that keeps writers apart.
        func requireTrust() throws(BackendError) {
            try files.requireTrust(in: [path, path + "-wal", path + "-shm", lockPath, Self.neighborLock(of: path)])
        }

        // MARK: Opening

        /// Opens a session of a database that was found, with its keys; nil when another database is there by now.
        func open(_ found: Found, _ keyset: Keyset, deadline: MonotonicInstant) throws(BackendError) -> DatabaseSession? {
            try retryingWhileBusy(deadline: deadline) { () throws(BackendError) in try open(found, keyset) }
        }

        private func open(_ found: Found, _ keyset: Keyset) throws(BackendError) -> DatabaseSession? {
            // On the lane: a lock that began before has closed the session by now, or closes it after this.
            try requireUnlocked()
            if let known = session, known.file == found.file, known.header == found.header { return known }
            guard let there = state.withLock(\.found), there.file == found.file, there.header == found.header else { return nil }
            // The connection that found the database becomes the first that reads it.
            let made = try DatabaseSession(there, keyset) { [weak self] () throws(BackendError) in
                // The session is a part of this file: a strong reference would keep both, and the connections open.
                guard let self else { throw BackendError(.unavailable, "The database was closed. Try again.") }
                return try secondConnection(there.file)
            }
            state.withLock { $0.found = nil }
            let older = openSession.withLock { session in
                defer { session = made }
                return session
            }
            // Its keys are out of date.
            older?.close()
            return made
        }

        private func secondConnection(_ file: FileID) throws(BackendError) -> Connection {
            let connection: Connection
            do throws(SQLiteFault) { connection = try Connection.reading(path) } catch { throw error.backendError() }
            try connection.checkFormat()
            guard try fileID() == file else {
                throw BackendError(.unavailable, "The database was replaced by another file. Try again.")
            }
            return connection
        }

        /// The connection that writes to the file at the path; nil when there is none.
        func writer(deadline: MonotonicInstant) throws(BackendError) -> DatabaseWriter? {
            if let known = state.withLock(\.writer), try fileAtPath() == known.file { return known }
            let file = try fileID()
            keepOnly(file)
            guard let file else { return nil }
            try requireTrust()
            do throws(FileError) { try removeDrafts() } catch { throw error.backendError() }
            let writer = try writableWriter(file, deadline: deadline)
            // The log is there by now. SQLite goes on when it cannot flush the folder's names, and does not flush the folders above.
            do throws(FileError) { try files.synchronizeDirectory(parentDirectory(of: path)) } catch { throw error.backendError() }
            state.withLock { $0.writer = writer }
            return writer
        }

        /// Opens a connection that can write. A file that cannot be opened for writing, SQLite opens for reading only, and shares that between its
        /// connections: then all of them are closed, and opened once more.
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

        /// The writer, if there is one already.
        var openWriter: DatabaseWriter? { state.withLock(\.writer) }

        /// Whether there is a log that holds something.
        func hasLog() throws(BackendError) -> Bool {
            do throws(FileError) { return try files.status(path + "-wal").map { $0.size > 0 } ?? false } catch {
                throw error.backendError()
            }
        }

        // MARK: Closing

        /// Closes every connection that is to another file. Nothing is written, so no lock is needed.
        private func keepOnly(_ file: FileID?) {
            guard isAnyOpen(otherThan: file) else { return }
            // The log may be the new file's by now, so nothing is written back into the old one.
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
            let session = openSession.withLock { session in
                defer { session = nil }
                return session
            }
            session?.close()
            scanner.close()
            state.found?.connection.close()
            state.writer.map(finish)
        }

        /// Whether a connection is open.
        var isOpen: Bool { isAnyOpen(otherThan: nil) }

        /// Closes every connection and writes nothing.
        func closeWithoutWriting() { keepOnly(nil) }

        /// Writes the log back into the database, empties it, and closes every connection. Where that cannot be done, as another process keeps the
        /// lock until the deadline, the connections are closed and the log stays: what was acknowledged is in it.
        func close(deadline: MonotonicInstant) {
            guard holdsKeys || state.withLock({ $0.found != nil || $0.writer != nil }) else { return }
            do throws(BackendError) {
                try locked(deadline: deadline) { () throws(BackendError) in
                    // A database that was only read may have a log too, left by a process that was killed.
                    do throws(BackendError) { _ = try writer(deadline: deadline) } catch {
                        // A database that cannot be written is closed as it is.
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
