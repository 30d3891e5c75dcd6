#if SQLite
    import BackendContract
    import BackendRuntime

    /// The locks between processes.
    extension DatabaseFile {
        /// Returns the path of the lock file beside a database. Every program takes this lock. The other
        /// lock file of the database is in a folder that each program configures.
        static func neighborLock(of path: String) -> String { path + "-lock" }

        func onFiles<R>(_ work: (any FileSystem) throws(FileError) -> R) throws(BackendError) -> R {
            do throws(FileError) { return try work(files) } catch { throw error.backendError() }
        }

        /// Runs work while this process holds both locks of the database. The first lock is in the configured folder,
        /// and processes that wait for it take turns. The second lock is beside the database.
        ///
        /// SQLite before 3.51.3 (3.50.7, 3.44.6) can damage a database when one connection writes while another one
        /// checkpoints (sqlite.org/wal.html, "the WAL-reset bug"). The locks prevent that between programs of this
        /// library, whatever version of SQLite they have.
        func locked<R>(deadline: MonotonicInstant, _ work: () throws(BackendError) -> R) throws(BackendError) -> R {
            let clock = clock
            let isOver: @Sendable () -> Bool = { clock.now >= deadline }
            let lock = try onFiles { (files) throws(FileError) in
                do throws(FileError) { return try files.lock(lockPath, giveUp: isOver) } catch {
                    guard error.isNotFound else { throw error }
                    try files.createDirectory(parentDirectory(of: lockPath))
                    return try files.lock(lockPath, giveUp: isOver)
                }
            }
            defer { lock.release() }
            // Reason: "Each list and each database has a second lock" in Docs/Decisions/LocksAndCommits.md.
            let neighbor = try onFiles { (files) throws(FileError) -> (any FileLock)? in
                do throws(FileError) { return try files.lock(Self.neighborLock(of: path), giveUp: isOver) } catch {
                    // Without the folder there is no database that another program could write.
                    guard error.isNotFound else { throw error }
                    return nil
                }
            }
            defer { neighbor?.release() }
            // A call that began before the program locked the database may open it again here.
            defer { if isLocked { closeWithoutWriting() } }
            guard clock.now < deadline else {
                throw BackendError(
                    .timedOut, "Another program kept the database locked until the deadline. Nothing was changed; try again.")
            }
            return try work()
        }

        /// Like ``locked(deadline:_:)``, but also begins the transaction that the first commit uses. If the call times
        /// out because other programs keep the database busy, nothing has changed.
        func lockedForCommits(deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) {
            try locked(deadline: deadline) { () throws(BackendError) in
                let writer = try writer(deadline: deadline)
                try writer?.begin(deadline: deadline)
                defer { writer?.endUnused() }
                work()
            }
        }

        /// Like ``locked(deadline:_:)``, but runs the work without a lock if the database does not exist. So no lock
        /// file is created for a missing database.
        func lockedIfItExists(deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) {
            if try fileID() == nil { work() } else { try locked(deadline: deadline, work) }
        }
    }
#endif
