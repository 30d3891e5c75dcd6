#if SQLite
    package import BackendContract
    import BackendRuntime
    package import Sealing

    extension SQLiteStore: MovableStore {
        /// Makes the database that lies here, and belongs elsewhere, this store's: one transaction under the lock, durable when it returns.
        /// A database that belongs here already stays as it is.
        /// - Parameter original: Where the database belongs.
        /// - Throws: ``BackendError``: `wrongContext` when it belongs to neither, `encryptionKeyMismatch` and others for its key.
        package func adopt(from original: StoreContext) async throws(BackendError) {
            let (file, place, deadline) = (file, context, nextDeadline)
            while true {
                let found = try await onLane(deadline) { () throws(BackendError) in try file.find(deadline: deadline) }
                guard let header = found?.header else {
                    throw BackendError(.unavailable, "There is no database here. Put the file here first; nothing was changed.")
                }
                if header.context != place, header.context != original { throw Self.neither(header.context, original, place) }
                let keyset = try await runtime.run(until: deadline) { () throws(BackendError) in try await self.keyset(of: header, in: nil)
                }
                let isDone = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) { (call) throws(BackendError) in
                    try file.adopt(header, keyset, place, deadline: call.deadline)
                }
                if isDone { return }
            }
        }

        private static func neither(_ found: StoreContext, _ original: StoreContext, _ place: StoreContext) -> BackendError {
            original.isNot(found, "The database", "Name where it belongs to move it to \(place).")
        }
    }

    extension DatabaseFile {
        /// Writes the place of a database into its header; false when the header is another one by now.
        fileprivate func adopt(
            _ header: DatabaseHeader, _ keyset: Keyset, _ place: StoreContext, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool {
            try locked(deadline: deadline) { () throws(BackendError) -> Bool in
                guard let writer = try writer(deadline: deadline) else { return false }
                var isSame = false
                try writer.transaction(deadline: deadline) { (rows, current) throws(BackendError) in
                    isSame = current == header
                    guard isSame, header.context != place else { return false }
                    try rows.replaceHeader(header.changed(keyset) { $0.context = place })
                    return true
                }
                if isSame { try confirm(writer.file) }
                return isSame
            }
        }
    }

    extension DatabaseWriter.Rows {
        /// Writes another header, and the keys that are in it.
        func replaceHeader(_ other: DatabaseHeader) throws(BackendError) {
            do throws(SQLiteFault) { try other.write(to: finder.database) } catch { throw error.backendError() }
            header = other
        }
    }
#endif
