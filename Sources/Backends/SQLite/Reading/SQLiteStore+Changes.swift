#if SQLite
    package import BackendContract
    import BackendRuntime
    import Synchronization

    /// Notifications about commits of other processes.
    extension SQLiteStore {
        /// Reports that another process, or another store on the same file, may have committed something. The changed
        /// slots (locations of values) are unknown, because their names are encrypted. The stream reports once when
        /// watching begins, and then after each such commit. It does not report commits of this store.
        ///
        /// The database's folder is watched until the stream is released, even if it is created or replaced later.
        package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
            let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .bufferingNewest(1))
            runtime.feed(continuation) { await self.watch { continuation.yield(nil) } }
            return stream
        }

        private func watch(_ announce: @Sendable () -> Void) async {
            let name = lastComponent(of: file.path)
            let changes = runtime.files.changes(of: [name, name + "-wal"], in: parentDirectory(of: file.path))
            let seen = Mutex(await version(opening: true))
            // Report once. Otherwise a commit between the caller's read and the beginning of the watch would be missed.
            announce()
            for await _ in changes {
                let now = await version(opening: false)
                let isNews = seen.withLock { seen in
                    defer { seen = now ?? seen }
                    // An unknown version may be a new one, so report it.
                    return now?.isNews(after: seen) ?? true
                }
                if isNews { announce() }
            }
        }

        /// Returns the current version of the database; nil if it is unknown.
        private func version(opening: Bool) async -> DatabaseFile.ForeignVersion? {
            let (file, deadline) = (file, nextDeadline)
            return try? await onLane(deadline) { () throws(BackendError) in try file.foreignVersion(opening: opening, deadline: deadline) }
        }
    }

    extension DatabaseFile {
        /// The version of a database, which changes with each commit of another connection.
        struct ForeignVersion: Hashable, Sendable {
            let file: FileID?
            /// The value of `PRAGMA data_version`; nil while the database is closed.
            let number: Int?

            func isNews(after seen: ForeignVersion?) -> Bool {
                guard let seen, seen.file == file else { return true }
                return number != nil && number != seen.number
            }
        }

        /// Returns the current version of the database.
        /// - Parameter opening: Whether to open a closed database. If not, a closed database stays closed, and the
        ///   version's ``ForeignVersion/number`` is nil.
        func foreignVersion(opening: Bool, deadline: MonotonicInstant) throws(BackendError) -> ForeignVersion {
            guard let file = try fileID(), opening || session != nil || openWriter != nil else {
                return ForeignVersion(file: try fileID(), number: nil)
            }
            let number = try locked(deadline: deadline) { () throws(BackendError) in try writer(deadline: deadline)?.dataVersion() }
            return ForeignVersion(file: file, number: number)
        }
    }
#endif
