#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Opening: the file on the lane, the key off it, so that a keyring that hangs does not delay other calls.
    extension SQLiteStore {
        /// The open database, of the file at the path; nil when it is proven that there is none.
        /// - Parameters:
        ///   - outdated: A session that was found to be out of date: it is compared with what is there now.
        ///   - deadline: When the caller stops waiting.
        /// - Throws: ``BackendError``: `encryptionKeyMissing`, `encryptionKeyMismatch`, `locked`, `corrupted`, `unsupported`,
        ///   `incompatibleSchema`.
        func opened(insteadOf outdated: DatabaseSession? = nil, deadline: MonotonicInstant) async throws(BackendError) -> DatabaseSession? {
            let file = file
            while true {
                if let known = file.session, known !== outdated, file.isCurrent(known) { return known }
                guard let found = try await onLane(deadline, { () throws(BackendError) in try file.find(deadline: deadline) }) else {
                    return nil
                }
                if let outdated, outdated === file.session, outdated.file == found.file, outdated.header == found.header { return outdated }
                let keyset = try await runtime.run(until: deadline) { () throws(BackendError) in try await self.keyset(of: found.header) }
                if let made = try await onLane(deadline, { () throws(BackendError) in try file.open(found, keyset, deadline: deadline) }) {
                    return made
                }
                // The store was closed, or the database replaced, while the key was fetched. That does not prove absence: begin again.
            }
        }

        /// The open database, created if there is none.
        func openedOrCreated(deadline: MonotonicInstant) async throws(BackendError) -> DatabaseSession? {
            let kek = try await runtime.run(until: deadline) { [keys, source, otherSealedIDs] () throws(BackendError) in
                try await keys.forSealing(from: source, sealedIDs: otherSealedIDs)
            }
            let (file, pin) = (file, source.pin)
            try await onLane(deadline) { () throws(BackendError) in try file.create(kek: kek, source: pin, deadline: deadline) }
            return try await opened(deadline: deadline)
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
                // Fetch the key again with the next call: the right one may be there by then.
                if error.code == .encryptionKeyMismatch { await keys.forget(source) }
                throw error
            }
        }
    }
#endif
