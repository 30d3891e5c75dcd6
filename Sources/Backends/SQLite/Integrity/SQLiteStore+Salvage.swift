#if SQLite
    package import BackendContract
    import BackendRuntime

    /// Salvage of damaged rows. The name of a damaged row cannot be read, because it is encrypted with the row's
    /// content. So damaged rows are listed, read and deleted by a handle, which contains the row's id and a digest.
    extension SQLiteStore: SalvageableBackend {
        /// Lists the slots of a namespace and every damaged row of the database. Every row must be opened, so the time
        /// grows with the number of rows.
        /// - Throws: ``BackendError``: `locked` and other errors of the key.
        package func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
            let listing = try await scanning { (file, session, isWanted) throws(BackendError) in
                try file.scanner.listing(in: namespace, session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted)
            }
            return listing ?? StorageListing([], damaged: [])
        }

        /// Returns the damaged row that a handle identifies. Its bytes are the slot, the version (8 bytes) and the
        /// sealed bytes. The slot and the sealed bytes are each preceded by their length in 4 bytes. For an entry of
        /// the table of labels (the index for queries), the bytes are the label and the slot.
        package func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? {
            guard let place = DamagePlace(handle) else { return nil }
            let found = try await scanning { (file, session, _) throws(BackendError) in
                try file.scanner.damage(at: place, session, isCurrent: { file.isCurrent(session) })
            }
            return found?.first
        }

        /// Deletes the damaged row that a handle identifies, and the labels that lead to it. The deletion is durable
        /// when this returns.
        package func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool {
            guard let place = DamagePlace(handle) else { return false }
            let (file, deadline) = (file, nextDeadline)
            var known = try await opened(deadline: deadline)
            while let session = known {
                let isDeleted = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) {
                    (call) throws(BackendError) in
                    try file.deleteDamage(place, session, deadline: call.deadline)
                }
                if let isDeleted { return isDeleted }
                known = try await opened(insteadOf: session, deadline: deadline)
            }
            return false
        }
    }

    extension DatabaseFile {
        /// Deletes the damage that a handle identifies. Returns nil if file or keys have changed since the session (the
        /// open database with its keys) was opened.
        fileprivate func deleteDamage(
            _ place: DamagePlace, _ session: DatabaseSession, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool? {
            try transaction(deadline: deadline) { file, header in
                session.file == file && session.header == header ? session.keyset : nil
            } _: { (rows) throws(BackendError) in
                let isDeleted = try rows.deleteDamage(place, session.keyset)
                return (isDeleted, isChanged: isDeleted)
            }
        }
    }
#endif
