#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Opening: the file on the lane, the key off it, so that a keyring that hangs delays nobody else.
    extension SQLiteStore {
        /// The open database, of the file that stands at the path; nil when it is proven that there is none.
        /// - Parameters:
        ///   - outdated: A session that somebody found to be out of date: it is compared with what is there now.
        ///   - deadline: When the caller leaves.
        /// - Throws: ``BackendError``: `encryptionKeyMissing`, `encryptionKeyMismatch`, `locked`, `corrupted`, `unsupported`, `incompatibleSchema`.
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
                // While the key was fetched the store was closed, or another database took this one's place. That is no absence: look again.
            }
        }

        /// The open database, made if there is none.
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
                // Once the right key is put there it is looked at again.
                if error.code == .encryptionKeyMismatch { await keys.forget(source) }
                throw error
            }
        }
    }
#endif
