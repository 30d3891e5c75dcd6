#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Letting go of keys: those of the database go with its session, which is closed and released. The key that wraps them is the program's, in its ``SealingKeys``.
    extension SQLiteStore: KeyHoldingStore, ReluctantBackend {
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

        package var hasOpenFiles: Bool { file.isOpen }

        /// Closes the database within a time, half of which is for the lock of another process: then the connections are closed without it.
        func letGo(within limit: Duration) async {
            let (file, now) = (file, runtime.clock.now)
            do throws(BackendError) {
                try await onLane(now.advanced(by: limit)) { () throws(BackendError) in file.close(deadline: now.advanced(by: limit / 2)) }
            } catch {
                // Other work on the lane waits for the disk. After it, keys and connections go, and nothing is written: what was acknowledged is in
                // the log.
                lane.enqueue { file.closeWithoutWriting() }
            }
        }
    }
#endif
