#if SQLite
    package import BackendContract
    import BackendRuntime
    import Sealing

    /// Rotation: replaces the data key while the database is in use.
    ///
    /// First, a new key becomes active and is wrapped for all recipients, which are the keys that can unwrap data keys.
    /// The old key becomes decrypt-only: it opens rows but seals no new ones. Then the rows are resealed in parts.
    /// Finally the old key is destroyed. Each step and each part is one transaction. If the process is killed at any
    /// point, the database opens with all of its rows, and the next rotation continues.
    extension SQLiteStore: RotatingStore {
        /// Rotates the data key, or finishes an interrupted rotation.
        /// - Parameters:
        ///   - batch: The maximum number of rows to check and reseal in one transaction.
        ///   - progress: Called after each part that resealed rows.
        /// - Returns: The number of rows that were resealed.
        package func rotateDataKey(
            batch: Int, progress: @Sendable (_ done: Int, _ total: Int) -> Void
        ) async throws(BackendError) -> Int {
            try await requireRowsAsWritten()
            try await rewriteHeader(deadline: nextDeadline) { (store, header) throws(BackendError) in
                try await store.activatingNewKey(header)
            }
            // A session that is already open still has the previous keys, so open a new one.
            var known = try await opened(insteadOf: file.session, deadline: nextDeadline)
            let total = try await rowCount()
            var (done, damaged) = (0, 0)
            // Go through all rows until a pass reseals none. During a pass, a row can move to a lower id and be missed.
            var (id, hasMoved) = (Int64.min, false)
            while let session = known, !session.keyset.decryptOnly.isEmpty {
                let (file, deadline, begin) = (file, nextDeadline, id)
                let part = try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: true) { (call) throws(BackendError) in
                    try file.reseal(from: begin, limit: batch, session, deadline: call.deadline)
                }
                guard let part else {
                    known = try await opened(insteadOf: session, deadline: nextDeadline)
                    continue
                }
                done += part.rows
                damaged += part.damaged
                hasMoved = hasMoved || part.rows > 0
                if part.rows > 0 { progress(done, max(total, done)) }
                if let next = part.next {
                    id = next
                } else if hasMoved {
                    (id, hasMoved, damaged) = (.min, false, 0)
                } else {
                    guard damaged == 0 else { throw Self.remaining(damaged) }
                    guard let isErased = try await deleteOlderKeys(session) else {
                        known = try await opened(insteadOf: session, deadline: nextDeadline)
                        (id, damaged) = (.min, 0)
                        continue
                    }
                    guard isErased else { throw Self.residue }
                    return done
                }
            }
            guard known != nil else {
                throw BackendError(
                    .unavailable, "The database was removed while its key was changed. Check the database file and try again.")
            }
            // Another process has finished the rotation.
            return done
        }

        /// Checks that the rows match the sealed state, which has their number and a keyed sum over them. This is done
        /// before a new key is wrapped for the recipients.
        /// Reason: "The sealed state names the keys of its commit" in Docs/Decisions/Database.md.
        private func requireRowsAsWritten() async throws(BackendError) {
            let areWhole = try await scanning(isPatient: true) { (file, session, isWanted) throws(BackendError) in
                try file.scanner.hasRowsAsWritten(session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted)
            }
            guard areWhole == false else { return }
            throw BackendError(
                .corrupted,
                "The rows of the database differ from those that were written, so it may be a mixture of files of different ages, in which a removed key is a recipient again. Check it with verifyIntegrity(of:) and keyRecipients(of:). Restore the file from a backup, or accept its present state with acceptContents(of:), and rotate again. Nothing was changed."
            )
        }

        private func rowCount() async throws(BackendError) -> Int {
            let (file, deadline) = (file, nextDeadline)
            return try await onLane(deadline) { () throws(BackendError) in
                try file.find(deadline: deadline)?.connection.number("SELECT count(*) FROM records") ?? 0
            }
        }

        /// Returns the header with a new active key, wrapped for every recipient. Returns the same header if an earlier
        /// rotation is not finished.
        private func activatingNewKey(_ header: DatabaseHeader) async throws(BackendError) -> HeaderChange {
            let holder = try await holder(of: header, in: context)
            let keyset = try header.open(holder, in: context)
            guard keyset.decryptOnly.isEmpty else { return HeaderChange(keyset, header) }
            let wrapping = try await wrappingKeys(of: header)
            let unwrapped = try holder.open(header.keys, database: header.database)
            let tables = try header.keys.activatingNewKey(for: wrapping, unwrapped, database: header.database, runtime.randomBytes)
            let after = try Keyset.open(tables, database: header.database, formats: header.formats, holder: holder)
            return HeaderChange(keyset, header.changed(after) { $0.keys = tables }, after: after)
        }

        /// Returns the keys for which a new data key must be wrapped: the keys of all recipients except recovery keys.
        ///
        /// The data key is wrapped for recovery keys too. For that, the public half of each recovery key suffices,
        /// which is in the header.
        func wrappingKeys(of header: DatabaseHeader) async throws(BackendError) -> [SealingKey] {
            var wrapping: [SealingKey] = []
            for recipient in header.keys.recipients where recipient.source != RecoveryRecipient.source {
                guard let source = sources.first(where: { $0.pin == recipient.source }) else {
                    throw BackendError(
                        .encryptionKeyMissing,
                        "The new data key must be wrapped for \"\(recipient.source)\" too, and this program is not configured for it. Nothing was changed."
                    )
                }
                wrapping.append(try await keys.key(for: [recipient.id], from: source))
            }
            return wrapping
        }

        private func deleteOlderKeys(_ session: DatabaseSession) async throws(BackendError) -> Bool? {
            let header = session.header
            let holder = try await holder(of: header, in: context)
            let tables = try header.keys.destroyingOlderKeys()
            let after = try Keyset.open(tables, database: header.database, formats: header.formats, holder: holder)
            let change = HeaderChange(session.keyset, header.changed(after) { $0.keys = tables }, after: after)
            let file = file
            return try await lane.run(clock: runtime.clock, deadline: nextDeadline, isMutation: true) { (call) throws(BackendError) in
                try file.deleteOlderKeys(session, change, deadline: call.deadline)
            }
        }

        private static func remaining(_ count: Int) -> BackendError {
            BackendError(
                .corrupted,
                "\(count) damaged rows are sealed with the old data key, which was therefore kept; every other row is sealed with the new one. Export, set aside or remove what is damaged, and rotate again.",
                outcome: .applied)
        }

        private static var residue: BackendError {
            BackendError(
                .residueRemains,
                "The old data key is destroyed. Another program reads an older state of the database, so bytes of the old key are still in its log; the next change overwrites them.",
                outcome: .applied)
        }
    }

    extension BackendError.Code {
        /// The data was removed, but bytes of it are left in the write-ahead log.
        static let residueRemains = BackendError.Code("residueRemains")
    }
#endif
