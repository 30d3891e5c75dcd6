#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    extension DatabaseFile {
        /// Returns the owner that the database names, without a key. Nil if there is neither a database nor a log.
        /// - Throws: ``BackendError``: `untrusted`, `timedOut`, `accessDenied` and others. Damage is no error.
        func owner(deadline: MonotonicInstant) throws(BackendError) -> StoreOwner? {
            guard try hasFiles() else { return nil }
            // Open nothing that belongs to another user: SQLite would create a log there.
            try requireTrust()
            do throws(BackendError) { return try find(deadline: deadline).map { .named($0.header.context) } } catch {
                guard Self.damage.contains(error.code) else { throw error }
                return .damaged(try traces())
            }
        }

        /// The errors of a file whose header cannot be read, by this version at least.
        private static let damage: Set<BackendError.Code> = [.corrupted, .unsupported, .incompatibleSchema, .failed]

        private func hasFiles() throws(BackendError) -> Bool {
            do throws(FileError) {
                if try files.status(path) != nil { return true }
                return try files.status(path + "-wal") != nil
            } catch { throw error.backendError() }
        }

        /// The number of bytes at the beginning of a file that are searched. A database begins with its header, and its log with the
        /// commits since the last checkpoint.
        private static let searched = 16 << 20

        /// Returns the contexts that the bytes of the file name. If there are none, returns those in its log.
        private func traces() throws(BackendError) -> Set<StoreContext> {
            for name in [path, path + "-wal"] {
                do throws(FileError) {
                    guard let status = try files.status(name), status.isRegular,
                        let bytes = try files.read(name, from: 0, count: min(Self.searched, Int(clamping: status.size)))
                    else { continue }
                    let found = StoreContext.traces(in: bytes)
                    if !found.isEmpty { return found }
                } catch { throw error.backendError() }
            }
            return []
        }
    }

    extension DatabaseBackup {
        package func owner(deadline: MonotonicInstant) async throws(BackendError) -> StoreOwner? {
            let lane = runtime.makeLane("sqlite.owner")
            let file = DatabaseFile(path: path, lockPath: lock, lane: lane, runtime: runtime)
            return try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) { (call) throws(BackendError) in
                defer { file.closeWithoutWriting() }
                return try file.owner(deadline: call.deadline)
            }
        }
    }
#endif
