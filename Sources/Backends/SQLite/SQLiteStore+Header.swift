#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// A header in place of another one, with the keys of both.
    struct HeaderChange: Sendable {
        /// The keys of the header that is replaced.
        let before: Keyset
        /// The other header.
        let header: DatabaseHeader
        /// Its keys.
        let after: Keyset

        /// - Parameter after: The keys of the other header, if they are other ones.
        init(_ before: Keyset, _ header: DatabaseHeader, after: Keyset? = nil) {
            (self.before, self.header, self.after) = (before, header, after ?? before)
        }
    }

    extension SQLiteStore {
        /// Finds the header, lets it be changed, and writes it in one transaction under the lock; durable when it returns. If the header is another one by then, it begins
        /// again. A header that stays the same is not written.
        /// - Parameters:
        ///   - deadline: When the caller stops waiting.
        ///   - change: Gives the header in place of the one that was found, with the keys, and checks that one.
        /// - Throws: ``BackendError``: `unavailable` when there is no database; what `change` throws. Nothing was changed then.
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
        /// Writes another header; false when the one that it replaces is not there any more.
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
