#if SQLite
    package import BackendContract
    import BackendRuntime
    import Synchronization

    /// Noticing what others commit, while somebody listens.
    extension SQLiteStore {
        /// Tells that somebody else may have committed something: which slots cannot be told, their names being hidden. It is said once when watching begins, and then
        /// with each commit of others; what this store commits is not reported.
        /// The database's directory is created if need be, and watched until the stream is let go.
        package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
            let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .bufferingNewest(1))
            let (stop, stopContinuation) = AsyncStream.makeStream(of: Never.self)
            continuation.onTermination = { _ in stopContinuation.finish() }
            runtime.tasks.spawn {
                await withTaskGroup { group in
                    group.addTask {
                        await self.watch { continuation.yield(nil) }
                        // The directory cannot be watched, or nobody listens any more.
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
            let (file, files) = (file, runtime.files)
            let directory = parentDirectory(of: file.path)
            do throws(BackendError) {
                try await onLane(nextDeadline) { () throws(BackendError) in
                    do throws(FileError) { try files.createDirectory(directory) } catch { throw error.backendError() }
                }
            } catch {
                return
            }
            let changes = files.changes(in: directory)
            let name = lastComponent(of: file.path)
            let names: Set<String> = [name, name + "-wal"]
            let seen = Mutex(await version(opening: true))
            // What was committed between the listener's own look and the beginning of the watch is told by nothing else.
            announce()
            for await changed in changes where names.contains(changed) {
                let now = await version(opening: false)
                let isNews = seen.withLock { seen in
                    defer { seen = now ?? seen }
                    // A state that cannot be told may be anything.
                    return now?.isNews(after: seen) ?? true
                }
                if isNews { announce() }
            }
        }

        /// Which state of which file others have made; nil when that cannot be told now.
        private func version(opening: Bool) async -> DatabaseFile.ForeignVersion? {
            let (file, deadline) = (file, nextDeadline)
            return try? await onLane(deadline) { () throws(BackendError) in try file.foreignVersion(opening: opening, deadline: deadline) }
        }
    }

    extension DatabaseFile {
        /// What tells one commit of somebody else's from the next.
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
