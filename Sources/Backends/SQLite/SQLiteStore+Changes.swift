#if SQLite
    public import BackendContract
    import BackendRuntime
    import Synchronization

    /// Noticing what others commit, while somebody listens.
    extension SQLiteStore {
        /// Tells that somebody else has committed something: which slots cannot be told, their names being hidden. What this store committed is not reported.
        /// The database's directory is created if need be, and watched until the stream is let go.
        public func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
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
                try await onLane(isMutation: false) { (_) throws(BackendError) in
                    do throws(FileError) { try files.createDirectory(directory) } catch { throw error.backendError() }
                }
            } catch {
                return
            }
            let changes = files.changes(in: directory)
            let name = lastComponent(of: file.path)
            let names: Set<String> = [name, name + "-wal"]
            // What was committed before the watch was there counts as known, what is committed after it is announced.
            let seen = Mutex(await version())
            for await changed in changes where names.contains(changed) {
                let now = await version()
                let isNews = seen.withLock { seen in
                    defer { seen = now ?? seen }
                    return now != nil && seen != now
                }
                if isNews { announce() }
            }
        }

        /// Which state of which file others have made; nil when that cannot be told now.
        private func version() async -> DatabaseFile.ForeignVersion? {
            let file = file
            return try? await onLane(isMutation: false) { (deadline) throws(BackendError) in try file.foreignVersion(deadline: deadline) }
        }
    }

    extension DatabaseFile {
        /// What tells one commit of somebody else's from the next.
        struct ForeignVersion: Hashable, Sendable {
            let file: FileID?
            let number: Int
        }

        func foreignVersion(deadline: MonotonicInstant) throws(BackendError) -> ForeignVersion {
            guard let file = try fileID() else { return ForeignVersion(file: nil, number: 0) }
            let number = try locked(deadline: deadline) { () throws(BackendError) in try writer(deadline: deadline).dataVersion() }
            return ForeignVersion(file: file, number: number)
        }
    }
#endif
