#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// A new header of a database, with the data keys before and after the change.
    struct HeaderChange: Sendable {
        /// The keys of the header to replace.
        let before: Keyset
        /// The new header.
        let header: DatabaseHeader
        /// The keys of the new header.
        let after: Keyset

        /// Creates a change.
        /// - Parameter after: The keys of the new header; nil if they are the same.
        init(_ before: Keyset, _ header: DatabaseHeader, after: Keyset? = nil) {
            (self.before, self.header, self.after) = (before, header, after ?? before)
        }
    }

    extension SQLiteStore {
        /// Reads the header, calls `change`, which returns a new header, and writes the new header in one transaction
        /// under the lock. The new header is durable when the call returns. If the header in the file has changed since
        /// it was read, the call starts again. An unchanged header is not written.
        /// - Parameters:
        ///   - deadline: When the caller stops waiting.
        ///   - change: Checks the header that was read, and returns the new header with its keys.
        /// - Throws: ``BackendError``: `unavailable` if there is no database; the errors of `change`. Nothing is
        ///   changed in these cases.
        func rewriteHeader(
            deadline: MonotonicInstant,
            _ change: @escaping @Sendable (SQLiteStore, DatabaseHeader) async throws(BackendError) -> HeaderChange
        ) async throws(BackendError) {
            let file = file
            while true {
                let found = try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline) }
                guard let header = found?.header else {
                    throw BackendError(.unavailable, "There is no database here. Put the file here first; nothing was changed.")
                }
                let other = try await runtime.run(until: deadline) { () throws(BackendError) in try await change(self, header) }
                if let found { try found.requireCurrentKeys(found.openedState(other.before)) }
                let isDone = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) { (call) throws(BackendError) in
                    try file.replace(header, with: other, deadline: call.deadline)
                }
                if isDone { return }
            }
        }
    }

    extension DatabaseFile {
        /// Writes the new header. Returns false if the database does not have the header to replace any more.
        fileprivate func replace(
            _ header: DatabaseHeader, with change: HeaderChange, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool {
            try locked(deadline: deadline) { () throws(BackendError) -> Bool in
                guard let writer = try writer(deadline: deadline) else { return false }
                var isSame = false
                try writer.transaction(deadline: deadline) { current in
                    isSame = current == header
                    return isSame && change.header != header ? change.before : nil
                } _: { (rows) throws(BackendError) in
                    try rows.replaceHeader(change.header, change.after)
                    // A recipient is a key that can unwrap the data keys. If the change removed one, no data key that
                    // is wrapped for it may stay in the write-ahead log.
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
