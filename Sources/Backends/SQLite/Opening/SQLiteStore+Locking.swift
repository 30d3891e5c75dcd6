#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Release of keys. The data keys are released when the session (the open database) is closed. The key that wraps
    /// them belongs to the program and stays in its ``SealingKeys``.
    extension SQLiteStore: KeyHoldingStore, ReluctantBackend {
        /// Waits for the work on the lane, closes the database, and refuses to open it until it is unlocked.
        package func lock(within limit: Duration) async {
            file.setLocked(true)
            await letGo(within: limit)
        }

        /// Allows the next call to open the database.
        package func endLock() { file.setLocked(false) }

        /// Closes the database if the store that holds its key is locked. The next call requests the key again.
        package func followSource() async -> Bool {
            guard file.holdsKeys, await source.isLocked() else { return false }
            await letGo(within: .seconds(1))
            return true
        }

        package var hasOpenFiles: Bool { file.isOpen }

        /// Closes the database within a time limit. If another process holds the lock, the call waits for it for at
        /// most half of the limit. Then it closes the connections without the lock.
        func letGo(within limit: Duration) async {
            let (file, now) = (file, runtime.clock.now)
            do throws(BackendError) {
                try await onLane(now.advanced(by: limit)) { () throws(BackendError) in file.close(deadline: now.advanced(by: limit / 2)) }
            } catch {
                // The limit has passed, because other work on the lane takes long. When that work has ended, this
                // closes the connections, releases the keys and writes nothing. Acknowledged changes are in the
                // write-ahead log.
                lane.enqueue { file.closeWithoutWriting() }
            }
        }
    }
#endif
