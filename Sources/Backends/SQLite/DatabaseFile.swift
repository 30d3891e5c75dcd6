#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// The database on the disk: found, made, written and let go of. Everything here may wait and is called on the store's lane only.
    final class DatabaseFile: Sendable {
        /// A file, as opposed to another that may come to have its name.
        struct FileID: Hashable, Sendable {
            let device: UInt64
            let inode: UInt64
        }

        /// A database that was found, read as far as that goes without a key.
        struct Found: @unchecked Sendable {
            let file: FileID
            let header: DatabaseHeader
            /// A connection for reading, which nobody else uses.
            let connection: RawDatabase
        }

        /// Used on the lane only.
        struct State: @unchecked Sendable {
            var found: Found?
            var writer: DatabaseWriter?
        }

        let path: String
        let lockPath: String
        let runtime: Runtime
        let state = Mutex(State())
        /// Appends work to the store's lane.
        let scheduleOnLane: @Sendable (@escaping @Sendable () -> Void) -> Void

        var files: any FileSystem { runtime.files }

        init(path: String, lockPath: String, lane: any Lane, runtime: Runtime) {
            self.path = path
            self.lockPath = lockPath
            self.runtime = runtime
            scheduleOnLane = { lane.enqueue($0) }
        }

        // MARK: Finding

        /// The database, if there is one.
        /// - Returns: Nil when it is proven that there is none.
        func find() throws(BackendError) -> Found? {
            guard let file = try fileID() else { return nil }
            if let found = state.withLock(\.found), found.file == file { return try refreshed(found) }
            let connection: RawDatabase
            do throws(SQLiteFault) { connection = try RawDatabase(reading: path) } catch { throw error.backendError() }
            do throws(BackendError) {
                let found = try read(file, connection)
                state.withLock { $0.found = found }
                return found
            } catch {
                abandon(connection)
                throw error
            }
        }

        private func refreshed(_ found: Found) throws(BackendError) -> Found {
            let again = try read(found.file, found.connection)
            state.withLock { $0.found = again }
            return again
        }

        private func read(_ file: FileID, _ connection: RawDatabase) throws(BackendError) -> Found {
            // One state of the file for all of it.
            let header = try connection.inReadTransaction { () throws(BackendError) in
                try connection.checkFormat()
                return try DatabaseHeader(reading: connection)
            } _: {
                $0.backendError()
            }
            return Found(file: file, header: header, connection: connection)
        }

        /// Hands the connection of a found database to somebody who keeps and closes it.
        func takeConnection() -> RawDatabase? {
            state.withLock { state in
                defer { state.found = nil }
                return state.found?.connection
            }
        }

        /// Which file stands at the path; nil when none does, and none has left its log behind.
        func fileID() throws(BackendError) -> FileID? {
            do throws(FileError) {
                guard let status = try files.status(path) else {
                    guard try files.status(path + "-wal").map({ $0.size == 0 }) ?? true else {
                        throw FileError(number: 0, operation: "orphan", path: path)
                    }
                    return nil
                }
                guard status.isRegular, status.size > 0 else { throw FileError(number: 0, operation: "empty", path: path) }
                return FileID(device: status.device, inode: status.inode)
            } catch {
                switch error.operation {
                case "orphan":
                    throw BackendError(
                        .corrupted,
                        "The database \(path) is gone, and its log \(lastComponent(of: path))-wal is there and holds data. Restore the database from a backup, or move the log away; nothing was changed."
                    )
                case "empty":
                    throw BackendError(
                        .corrupted,
                        "The database \(path) is empty or not a file. Restore it from a backup, or move it away; nothing was changed.")
                default: throw error.backendError()
                }
            }
        }

        // MARK: The lock

        /// Holds the lock between processes while something is written. SQLite before 3.51.3 (3.50.7, 3.44.6) can damage a database when one connection
        /// writes while another checkpoints (sqlite.org/wal.html, "the WAL-reset bug"); with the lock neither ever happens, whatever version another program has.
        func locked<R>(deadline: MonotonicInstant, _ work: () throws(BackendError) -> R) throws(BackendError) -> R {
            let clock = runtime.clock
            let lock: any FileLock
            do throws(FileError) {
                try files.createDirectory(parentDirectory(of: lockPath))
                lock = try files.lock(lockPath) { clock.now >= deadline }
            } catch {
                throw error.backendError()
            }
            defer { lock.release() }
            return try work()
        }

        // MARK: Letting go

        /// Closes a connection that may be the last one: SQLite then checkpoints, so the lock is held. If it cannot be had, the connection stays open until the process ends.
        private func abandon(_ connection: RawDatabase) { retire { connection.close() } }

        /// Closes connections with the lock held.
        func retire(_ close: () -> Void) {
            do throws(BackendError) {
                try locked(deadline: runtime.clock.now.advanced(by: .seconds(1))) { close() }
            } catch {
                // Open connections do no harm; an unguarded checkpoint could.
            }
        }

        /// Writes the log back into the database, empties it, and closes every connection.
        func close(deadline: MonotonicInstant, _ closeOthers: () -> Void) throws(BackendError) {
            try locked(deadline: deadline) {
                let (connection, writer) = state.withLock { state in
                    defer { state = State() }
                    return (state.found?.connection, state.writer)
                }
                // A database that was only read has a log too, which another process may have left.
                let last =
                    writer
                    ?? (try? fileID()).flatMap { file in
                        file.flatMap { try? DatabaseWriter(path: path, file: $0, clock: runtime.clock, deadline: deadline) }
                    }
                closeOthers()
                connection?.close()
                last?.close(deadline: deadline)
            }
        }
    }
#endif
