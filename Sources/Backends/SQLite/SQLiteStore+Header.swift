#if SQLite
    import BackendContract
    import BackendRuntime

    extension SQLiteStore {
        /// Finds the header, lets it be changed, and writes it in one transaction under the lock; durable when it returns. If the header is another one by then, it begins
        /// again. A header that stays the same is not written.
        /// - Parameters:
        ///   - deadline: When the caller stops waiting.
        ///   - change: Gives the header in place of the one that was found, and checks that one.
        /// - Throws: ``BackendError``: `unavailable` when there is no database; what `change` throws. Nothing was changed then.
        func rewriteHeader(
            deadline: MonotonicInstant,
            _ change: @escaping @Sendable (SQLiteStore, DatabaseHeader) async throws(BackendError) -> DatabaseHeader
        ) async throws(BackendError) {
            let file = file
            while true {
                let found = try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline) }
                guard let header = found?.header else {
                    throw BackendError(.unavailable, "There is no database here. Put the file here first; nothing was changed.")
                }
                let other = try await runtime.run(until: deadline) { () throws(BackendError) in try await change(self, header) }
                let isDone = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) { (call) throws(BackendError) in
                    try file.replace(header, with: other, deadline: call.deadline)
                }
                if isDone { return }
            }
        }
    }

    extension DatabaseFile {
        /// Writes another header; false when the one that it replaces is not there any more.
        fileprivate func replace(
            _ header: DatabaseHeader, with other: DatabaseHeader, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool {
            try locked(deadline: deadline) { () throws(BackendError) -> Bool in
                guard let writer = try writer(deadline: deadline) else { return false }
                var isSame = false
                try writer.transaction(deadline: deadline) { (rows, current) throws(BackendError) in
                    isSame = current == header
                    guard isSame, other != header else { return false }
                    do throws(SQLiteFault) { try other.write(to: rows.finder.database) } catch { throw error.backendError() }
                    rows.header = other
                    // A recipient who was removed must not find a wrapped key in the log.
                    rows.hasRemoved = true
                    return true
                }
                if isSame {
                    try confirm(writer.file)
                    writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                }
                return isSame
            }
        }
    }
#endif
