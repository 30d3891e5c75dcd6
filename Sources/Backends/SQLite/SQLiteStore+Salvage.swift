#if SQLite
    package import BackendContract
    import BackendRuntime

    /// Damaged rows: their names are sealed with them, so they are listed, read and deleted by a handle.
    extension SQLiteStore: SalvageableBackend {
        /// The slots of a namespace, with every damaged row of the database. Each row has to be opened, so the time grows with their number.
        /// - Throws: ``BackendError``: `locked` and others for the key.
        package func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
            let listing = try await scanning { (file, session, isWanted) throws(BackendError) in
                try file.scanner.listing(in: namespace, session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted)
            }
            return listing ?? StorageListing([], damaged: [])
        }

        /// The damaged row that a handle names. Its bytes are: counted slot, version (8 bytes), counted sealed bytes.
        package func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? {
            guard let place = DamagePlace(handle) else { return nil }
            let found = try await scanning { (file, session, _) throws(BackendError) in
                try file.scanner.damage(at: place, session, isCurrent: { file.isCurrent(session) })
            }
            return found?.first
        }

        /// Deletes the damaged row that a handle names, and the labels that lead to it; durable when it returns.
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
        /// Deletes what a handle of damage names; nil when file or keys have changed since the session was opened.
        fileprivate func deleteDamage(
            _ place: DamagePlace, _ session: DatabaseSession, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool? {
            try locked(deadline: deadline) { () throws(BackendError) -> Bool? in
                guard let writer = try writer(deadline: deadline) else { return nil }
                var isDeleted: Bool?
                try writer.transaction(deadline: deadline) { header in
                    session.file == writer.file && session.header == header ? session.keyset : nil
                } _: { (rows) throws(BackendError) in
                    let deleted = try rows.deleteDamage(place, session.keyset)
                    isDeleted = deleted
                    return deleted
                }
                if isDeleted == true {
                    try confirm(writer.file)
                    writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                }
                return isDeleted
            }
        }
    }
#endif
