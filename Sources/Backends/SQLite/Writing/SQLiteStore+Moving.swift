#if SQLite
    package import BackendContract
    import BackendRuntime
    package import Sealing

    extension SQLiteStore: MovableStore {
        /// Adopts the database at this path, which belongs to another context (application, kind and scope). The change
        /// is one transaction under the lock, and is durable when the call returns. The database gets another id and
        /// another data key, and every row is resealed. So it shares no key and no row with a copy of the former file.
        /// A database that already belongs here is not changed.
        /// - Parameter original: The context that the database belongs to.
        /// - Throws: ``BackendError``: `wrongContext` if it belongs to neither context; `encryptionKeyMismatch` and
        ///   other errors of its key.
        package func adopt(from original: StoreContext) async throws(BackendError) {
            guard let follower = file.follower else {
                _ = try await reidentify(from: original)
                return
            }
            // The anchor, which records the latest state outside the file, has the former id of the database. Check
            // first that the file has this latest state.
            guard let found = try await belongingElsewhere(original) else { return }
            let keyset = try await keyset(of: found.header, in: nil)
            let expected = try await expectedMark(deadline: nextDeadline)
            if expected?.database == found.header.database { try await requireNotOlder(found, keyset, nextDeadline) }
            try await follower.flush()
            try await follower.accept { (expected) throws(BackendError) in
                try await self.reidentify(from: original)
                return try await self.commit(above: expected?.commits ?? 0)
            }
        }

        /// Returns the database if it belongs to the original context; nil if it already belongs here.
        private func belongingElsewhere(_ original: StoreContext) async throws(BackendError) -> DatabaseFile.Found? {
            let (file, deadline) = (file, nextDeadline)
            let found = try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline) }
            guard let found else {
                throw BackendError(.unavailable, "There is no database here. Put the file here first; nothing was changed.")
            }
            if found.header.context == context { return nil }
            guard found.header.context == original else {
                throw original.isNot(found.header.context, "The database", "Name where it belongs to move it to \(context).")
            }
            return found
        }

        // Reason: "Adopting a database gives it a new id and a new data key" in Docs/Decisions/Database.md.
        private func reidentify(from original: StoreContext) async throws(BackendError) {
            let file = file
            while let found = try await belongingElsewhere(original) {
                let header = found.header
                let holder = try await holder(of: header, in: nil)
                let before = try header.open(holder, in: nil)
                try found.requireCurrentKeys(found.openedState(before))
                let other = runtime.randomBytes(Keyset.databaseLength)
                let tables = try header.keys.reidentified(
                    for: try await wrappingKeys(of: header), try holder.open(header.keys, database: header.database),
                    database: header.database, as: other, runtime.randomBytes)
                let after = try Keyset.open(tables, database: other, formats: header.formats, holder: holder)
                let change = HeaderChange(before, header.reidentified(other, in: context, tables, after), after: after)
                let isDone = try await lane.run(clock: runtime.clock, deadline: nextDeadline, isMutation: true) {
                    (call) throws(BackendError) in
                    try file.reidentify(header, change, deadline: call.deadline) { call.progressed() }
                }
                if isDone { return }
            }
        }
    }
#endif
