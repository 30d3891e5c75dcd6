#if SQLite
    import BackendContract
    import BackendRuntime

    /// The locks between processes.
    extension DatabaseFile {
        /// The lock file beside a database. Every program takes it, whatever folder of locks it was configured with.
        static func neighborLock(of path: String) -> String { path + "-lock" }

        private func onFiles<R>(_ work: (any FileSystem) throws(FileError) -> R) throws(BackendError) -> R {
            do throws(FileError) { return try work(files) } catch { throw error.backendError() }
        }

        /// Holds the locks between processes while something is written: the one that programs of one configuration hand on in turn, and the one
        /// beside the database.
        ///
        /// SQLite before 3.51.3 (3.50.7, 3.44.6) can damage a database when one connection writes while another checkpoints
        /// (sqlite.org/wal.html, "the WAL-reset bug"); with the lock this never happens, whatever version of SQLite another program has.
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
            let neighbor = try onFiles { (files) throws(FileError) -> (any FileLock)? in
                do throws(FileError) { return try files.lock(Self.neighborLock(of: path), giveUp: isOver) } catch {
                    // Without its folder there is no database that another program could write.
                    guard error.isNotFound else { throw error }
                    return nil
                }
            }
            defer { neighbor?.release() }
            guard clock.now < deadline else {
                throw BackendError(
                    .timedOut, "Another program kept the database locked until the deadline. Nothing was changed; try again.")
            }
            return try work()
        }

        /// As ``locked(deadline:_:)``, with a transaction that the first commit uses: a caller that leaves while other programs keep the database
        /// busy has changed nothing.
        func lockedForCommits(deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) {
            try locked(deadline: deadline) { () throws(BackendError) in
                let writer = try writer(deadline: deadline)
                try writer?.begin(deadline: deadline)
                defer { writer?.endUnused() }
                work()
            }
        }

        /// As ``locked(deadline:_:)``; where there is no database, nothing is created for a lock either.
        func lockedIfItExists(deadline: MonotonicInstant, _ work: () -> Void) throws(BackendError) {
            if try fileID() == nil { work() } else { try locked(deadline: deadline, work) }
        }
    }
#endif
