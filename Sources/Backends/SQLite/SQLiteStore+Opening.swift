#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Opening: the file on the lane, the key off it, so that a keyring that hangs does not delay other calls.
    extension SQLiteStore {
        /// The open database, of the file at the path; nil when it is proven that there is none.
        /// - Parameters:
        ///   - outdated: A session that was found to be out of date: it is compared with what is there now.
        ///   - deadline: When the caller stops waiting; later, if the key's source takes its own time.
        /// - Throws: ``BackendError``: `encryptionKeyMissing`, `encryptionKeyMismatch`, `locked`, `corrupted`, `unsupported`,
        ///   `incompatibleSchema`, `rolledBack`; what the freshness anchor throws when it cannot be read.
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
                // Another program has made the database and its mark since the anchor was read.
                if expected == nil, state?.isAnchored == true, try await expectedMark(deadline: deadline) != nil { continue }
                try file.follower?.check(
                    expected, database: found.header.database, mark: state.map { keyset.active.mark(of: $0) },
                    isAnchored: state?.isAnchored == true)
                try found.requireCurrentKeys(state)
                if let made = try await onLane(limit, { () throws(BackendError) in try file.open(found, keyset, deadline: limit) }) {
                    return made
                }
                // The store was closed, or the database replaced, while the key was fetched. That does not prove absence: begin again.
            }
        }

        /// The open database, as ``opened(insteadOf:_:)``. The time that the key's source takes does not extend this deadline.
        func opened(insteadOf outdated: DatabaseSession? = nil, deadline: MonotonicInstant) async throws(BackendError) -> DatabaseSession? {
            var deadline = deadline
            return try await opened(insteadOf: outdated, &deadline)
        }

        /// Fetches a key. The time that a source takes which derives its key is added to the deadline.
        private func fetchingKey<R: Sendable>(
            _ deadline: inout MonotonicInstant, _ work: @escaping @Sendable () async throws(BackendError) -> R
        ) async throws(BackendError) -> R {
            guard sources.contains(where: \.takesItsTime) else { return try await runtime.run(until: deadline, work) }
            let start = runtime.clock.now
            let result = try await work()
            deadline = deadline.advanced(by: start.duration(to: runtime.clock.now))
            return result
        }

        /// What the freshness anchor knows of the database; nil where there is no anchor, or it holds nothing yet.
        func expectedMark(deadline: MonotonicInstant) async throws(BackendError) -> FreshnessMark? {
            guard let follower = file.follower else { return nil }
            return try await runtime.run(until: deadline) { () throws(BackendError) in try await follower.expected() }
        }

        /// The open database, created if there is none.
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

        /// Unwraps a database's keys with the key of a recipient whose source this store has: the first one that can be fetched.
        /// - Parameters:
        ///   - header: The header.
        ///   - place: Where the database has to belong; nil for anywhere.
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
                    // That of the source which comes first says most.
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
                // Fetch the key again with the next call: the right one may be there by then.
                if error.code == .encryptionKeyMismatch { await keys.forget(source) }
                throw error
            }
        }
    }
#endif
