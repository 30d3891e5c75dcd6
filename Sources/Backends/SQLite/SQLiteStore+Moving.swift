#if SQLite
    package import BackendContract
    package import Sealing

    extension SQLiteStore: MovableStore {
        /// Makes the database that lies here, and belongs elsewhere, this store's: one transaction under the lock, durable when it returns.
        /// A database that belongs here already stays as it is.
        /// - Parameter original: Where the database belongs.
        /// - Throws: ``BackendError``: `wrongContext` when it belongs to neither, `encryptionKeyMismatch` and others for its key.
        package func adopt(from original: StoreContext) async throws(BackendError) {
            let place = context
            try await rewriteHeader(deadline: nextDeadline) { (store, header) throws(BackendError) in
                if header.context != place, header.context != original { throw Self.neither(header.context, original, place) }
                let keyset = try await store.keyset(of: header, in: nil)
                return HeaderChange(keyset, header.changed(keyset) { $0.context = place })
            }
        }

        private static func neither(_ found: StoreContext, _ original: StoreContext, _ place: StoreContext) -> BackendError {
            original.isNot(found, "The database", "Name where it belongs to move it to \(place).")
        }
    }
#endif
