#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// Opening: the file on the lane, the key off it, so that a keyring that hangs delays nobody else.
    extension SQLiteStore {
        /// The open database; nil when there is none.
        /// - Parameter outdated: A session that somebody found to be out of date: it is compared with what is there now.
        /// - Throws: ``BackendError``: `encryptionKeyMissing`, `encryptionKeyMismatch`, `locked`, `corrupted`, `unsupported`, `incompatibleSchema`.
        func opened(insteadOf outdated: DatabaseSession? = nil) async throws(BackendError) -> DatabaseSession? {
            if let known = session.withLock(\.self), known !== outdated { return known }
            let file = file
            // Absence is one look at the file's name.
            guard let found = try await onLane(isMutation: false, { (_) throws(BackendError) in try file.find() }) else {
                if let outdated { forget(outdated) }
                return nil
            }
            if let outdated, outdated.file == found.file, outdated.header == found.header { return outdated }
            let keyset = try await keyset(of: found.header)
            if let outdated { forget(outdated) }
            return try await onLane(isMutation: false) { [self] (_) throws(BackendError) in
                if let known = session.withLock(\.self) { return known }
                // The connection that found the database becomes the first that reads it.
                guard let connection = file.takeConnection() else { return nil }
                let reader = try SlotReader(connection, path: file.path, keyset: keyset)
                let made = DatabaseSession(file: found.file, header: found.header, keyset: keyset, reader: reader)
                session.withLock { $0 = made }
                return made
            }
        }

        /// The open database, made if there is none.
        func openedOrCreated() async throws(BackendError) -> DatabaseSession? {
            let kek = try await keys.forSealing(from: source, sealedIDs: otherSealedIDs)
            let (file, pin) = (file, source.pin)
            try await onLane(isMutation: false) { (deadline) throws(BackendError) in
                try file.create(kek: kek, source: pin, deadline: deadline)
            }
            return try await opened()
        }

        private func keyset(of header: DatabaseHeader) async throws(BackendError) -> Keyset {
            guard header.source == source.pin else {
                throw BackendError(
                    .encryptionKeyMismatch,
                    "The database was made with the key in \"\(header.source)\"; this program is configured for \"\(source.pin)\". Configure that source, or move the values into another database with moved(from:). Nothing was changed."
                )
            }
            let kek = try await keys.existing(from: source)
            do throws(BackendError) { return try header.open(kek) } catch {
                // Once the right key is put there it is looked at again.
                if error.code == .encryptionKeyMismatch { await keys.forget(source) }
                throw error
            }
        }

        /// Lets go of a session. Its connections stay until the readers in flight are done with them.
        private func forget(_ outdated: DatabaseSession) {
            session.withLock { if $0 === outdated { $0 = nil } }
            let file = file
            lane.enqueue { file.retire { outdated.reader.close() } }
        }
    }
#endif
