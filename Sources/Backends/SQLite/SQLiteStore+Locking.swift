#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Letting go of keys: those of the database go with its session, which is closed and released. The key that wraps them is the program's, in its ``SealingKeys``.
    extension SQLiteStore: KeyHoldingStore {
        /// Waits for the work on the lane, closes the database, and refuses to open it until it is unlocked.
        package func lock(within limit: Duration) async {
            file.setLocked(true)
            await letGo(within: limit)
        }

        /// Lets the next call open the database.
        package func endLock() { file.setLocked(false) }

        /// Closes the database if the place where its key is kept is locked. The next call asks for the key.
        package func followSource() async -> Bool {
            guard file.holdsKeys, await source.isLocked() else { return false }
            await letGo(within: .seconds(1))
            return true
        }

        private func letGo(within limit: Duration) async {
            let (file, deadline) = (file, runtime.clock.now.advanced(by: limit))
            do throws(BackendError) {
                try await onLane(deadline) { () throws(BackendError) in try file.close(deadline: deadline) }
            } catch {
                // What was acknowledged is on the disk, in the log.
            }
            // Another process may hold the lock for longer than a caller waits, or work on the lane: the keys go without it, and without writing.
            if file.holdsKeys { lane.enqueue { file.closeWithoutWriting() } }
        }
    }
#endif
