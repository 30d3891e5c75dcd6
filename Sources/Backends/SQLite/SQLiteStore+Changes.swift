#if SQLite
    package import BackendContract
    import BackendRuntime
    import Synchronization

    /// Noticing the commits of other processes.
    extension SQLiteStore {
        /// Reports that another process or store may have committed something; which slots is not known, since their names are hidden. It
        /// reports once when watching begins, and then with each such commit; what this store commits is not reported.
        /// The database's directory is watched until the stream is released, also one that appears or is replaced meanwhile.
        package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
            let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .bufferingNewest(1))
            let (stop, stopContinuation) = AsyncStream.makeStream(of: Never.self)
            continuation.onTermination = { _ in stopContinuation.finish() }
            runtime.tasks.spawn {
                await withTaskGroup { group in
                    group.addTask {
                        await self.watch { continuation.yield(nil) }
                        // The directory cannot be watched, or the stream was released.
                        continuation.finish()
                    }
                    group.addTask { for await _ in stop {} }
                    await group.next()
                    group.cancelAll()
                }
            }
            return stream
        }

        private func watch(_ announce: @Sendable () -> Void) async {
            let name = lastComponent(of: file.path)
            let changes = runtime.files.changes(of: [name, name + "-wal"], in: parentDirectory(of: file.path))
            let seen = Mutex(await version(opening: true))
            // Report once: a commit between the caller's own read and the beginning of the watch is not noticed otherwise.
            announce()
            for await _ in changes {
                let now = await version(opening: false)
                let isNews = seen.withLock { seen in
                    defer { seen = now ?? seen }
                    // An unknown version may be a new one.
                    return now?.isNews(after: seen) ?? true
                }
                if isNews { announce() }
            }
        }

        /// The current version of the database; nil when it is not known.
        private func version(opening: Bool) async -> DatabaseFile.ForeignVersion? {
            let (file, deadline) = (file, nextDeadline)
            return try? await onLane(deadline) { () throws(BackendError) in try file.foreignVersion(opening: opening, deadline: deadline) }
        }
    }

    extension DatabaseFile {
        /// A number that changes with each commit of another connection.
        struct ForeignVersion: Hashable, Sendable {
            let file: FileID?
            /// Nil while the database is closed.
            let number: Int?

            func isNews(after seen: ForeignVersion?) -> Bool {
                guard let seen, seen.file == file else { return true }
                return number != nil && number != seen.number
            }
        }

        /// - Parameter opening: Whether a closed database may be opened; otherwise it stays closed until its user's next call.
        func foreignVersion(opening: Bool, deadline: MonotonicInstant) throws(BackendError) -> ForeignVersion {
            guard let file = try fileID(), opening || session != nil || openWriter != nil else {
                return ForeignVersion(file: try fileID(), number: nil)
            }
            let number = try locked(deadline: deadline) { () throws(BackendError) in try writer(deadline: deadline)?.dataVersion() }
            return ForeignVersion(file: file, number: number)
        }
    }
#endif
