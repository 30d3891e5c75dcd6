#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Opening of a database. The file is read on the lane (a serial queue). The key is fetched off the lane, so that a
    /// keyring that hangs does not delay other calls.
    extension SQLiteStore {
        /// Returns the open database of the file at the path; nil only if the file certainly does not exist.
        /// - Parameters:
        ///   - outdated: A session (an open database with its keys) that was found to be outdated. It is compared with
        ///     the current file.
        ///   - deadline: When the caller stops waiting. It is extended if the key's source has to derive its key or ask
        ///     for it.
        /// - Throws: ``BackendError``: `encryptionKeyMissing`, `encryptionKeyMismatch`, `locked`, `corrupted`,
        ///   `unsupported`, `incompatibleSchema`, `rolledBack`; the error of a freshness anchor that cannot be read.
        ///   The anchor records a mark of the latest state outside the database.
        func opened(
            insteadOf outdated: DatabaseSession? = nil, _ deadline: inout MonotonicInstant
        ) async throws(BackendError) -> DatabaseSession? {
            let file = file
            while true {
                let until = deadline
                try file.requireUnlocked()
                if let refusal = file.follower?.refusal { throw refusal }
                if let known = file.session, known !== outdated, file.isCurrent(known) { return known }
                let expected = try await expectedMark(deadline: deadline)
                guard let found = try await onLane(until, { () throws(BackendError) in try file.find(deadline: until) }) else {
                    if let expected, let follower = file.follower { throw follower.missing(expected) }
                    return nil
                }
                if let outdated, outdated === file.session, outdated.file == found.file, outdated.header == found.header { return outdated }
                let keyset = try await fetchingKey(&deadline) { () throws(BackendError) in
                    try await self.keyset(of: found.header, in: self.context)
                }
                let limit = deadline
                let state = found.openedState(keyset)
                // Another program created the database, and its mark in the anchor, after the anchor was read. Start
                // again.
                if expected == nil, state?.isAnchored == true, try await expectedMark(deadline: deadline) != nil { continue }
                try file.follower?.check(
                    expected, database: found.header.database, mark: state.map { keyset.active.mark(of: $0) },
                    isAnchored: state?.isAnchored == true)
                try found.requireCurrentKeys(state)
                if let made = try await onLane(limit, { () throws(BackendError) in try file.open(found, keyset, deadline: limit) }) {
                    return made
                }
                // The store was closed, or the database replaced, while the key was fetched. That does not prove
                // absence, so start again.
            }
        }

        /// Returns the open database, like ``opened(insteadOf:_:)``. The caller's deadline is not extended by the time
        /// that the key's source takes.
        func opened(insteadOf outdated: DatabaseSession? = nil, deadline: MonotonicInstant) async throws(BackendError) -> DatabaseSession? {
            var deadline = deadline
            return try await opened(insteadOf: outdated, &deadline)
        }

        /// Fetches a key. If a source has to derive its key or ask for it, that time is added to the deadline.
        private func fetchingKey<R: Sendable>(
            _ deadline: inout MonotonicInstant, _ work: @escaping @Sendable () async throws(BackendError) -> R
        ) async throws(BackendError) -> R {
            guard sources.contains(where: \.takesItsTime) else { return try await runtime.run(until: deadline, work) }
            let start = runtime.clock.now
            let result = try await work()
            deadline = deadline.advanced(by: start.duration(to: runtime.clock.now))
            return result
        }

        /// Returns the mark of the database's latest state that the freshness anchor has; nil if there is no anchor, or
        /// it has no mark yet.
        func expectedMark(deadline: MonotonicInstant) async throws(BackendError) -> FreshnessMark? {
            guard let follower = file.follower else { return nil }
            return try await runtime.run(until: deadline) { () throws(BackendError) in try await follower.expected() }
        }

        /// Returns the open database. Creates it if there is none.
        func openedOrCreated(_ deadline: inout MonotonicInstant) async throws(BackendError) -> DatabaseSession? {
            let kek = try await fetchingKey(&deadline) { [keys, source, otherSealedIDs] () throws(BackendError) in
                try await keys.forSealing(from: source, isForNewStore: true, sealedIDs: otherSealedIDs)
            }
            let (file, pin, context, limit) = (file, source.pin, context, deadline)
            try await onLane(limit) { () throws(BackendError) in
                try file.create(kek: kek, source: pin, context: context, deadline: limit)
            }
            return try await opened(&deadline)
        }

        /// Unwraps the data keys. Tries each source whose key is a recipient (a key for which the data keys are
        /// wrapped), and uses the first one that works.
        /// - Parameters:
        ///   - header: The header to open.
        ///   - place: The context (application, kind and scope) that the database must belong to; nil to accept any
        ///     context.
        func keyset(of header: DatabaseHeader, in place: StoreContext?) async throws(BackendError) -> Keyset {
            let recipients = header.keys.recipients
            let mine = sources.filter { source in recipients.contains { $0.source == source.pin } }
            guard !mine.isEmpty else {
                let theirs = Set(recipients.map { "\"\($0.source)\"" }).sorted().joined(separator: " or ")
                throw BackendError(
                    .encryptionKeyMismatch,
                    "The database was made with the key in \(theirs); this program is configured for \"\(source.pin)\". Configure that source, or move the values into another database with moved(from:). Nothing was changed."
                )
            }
            var failure: BackendError?
            for source in mine {
                do throws(BackendError) { return try await keyset(of: header, from: source, in: place) } catch {
                    // Throw the error of the first source at the end, because it is the most helpful one.
                    failure = failure ?? error
                    guard [.encryptionKeyMissing, .encryptionKeyMismatch, .locked, .unavailable, .accessDenied].contains(error.code) else {
                        throw error
                    }
                }
            }
            throw failure ?? Keyset.damage
        }

        private func keyset(
            of header: DatabaseHeader, from source: any KeySource, in place: StoreContext?
        ) async throws(BackendError) -> Keyset {
            let kek = try await keys.key(for: header.keys.ids(ofSource: source.pin), from: source)
            do throws(BackendError) { return try header.open(.key(kek), in: place) } catch {
                // The next call fetches the key again, because the source may have the right one then.
                if error.code == .encryptionKeyMismatch { await keys.forget(source) }
                throw error
            }
        }
    }
#endif
