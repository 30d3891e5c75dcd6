#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// A call that waits to be carried out, with the keys it was made for.
    struct CommitRequest: Sendable {
        let session: DatabaseSession
        let mutations: [StorageMutation]
    }

    /// What became of a call.
    enum CommitResponse: Sendable {
        case results([MutationResult])
        /// The file or its keys are others than the call knows: it is made again with what is there now. Nothing was changed.
        case outdated
    }

    /// Writing, group by group.
    extension DatabaseFile {
        /// Carries out calls in one transaction with one flush. Each call is one atomic batch; later ones see earlier ones.
        func commit(_ requests: [CommitRequest], deadline: MonotonicInstant) -> [Result<CommitResponse, BackendError>] {
            do throws(BackendError) {
                let (responses, mustCheckpoint) = try locked(deadline: deadline) { () throws(BackendError) in
                    let writer = try writer(deadline: deadline)
                    let responses = try commitLocked(requests, writer, deadline: deadline)
                    // What was removed is gone from the log too when the caller hears of it, unless somebody reads an older state for longer than this.
                    if writer.mustScrub { writer.scrub(deadline: min(deadline, runtime.clock.now.advanced(by: Self.scrubPatience))) }
                    return (responses, writer.isLogLong)
                }
                if mustCheckpoint { checkpointLater() }
                return responses.map { .success($0) }
            } catch {
                // A deadline ends the call; anything else is what became of each mutation.
                if error.code == .timedOut { return requests.map { _ in .failure(error) } }
                return requests.map { .success(.results($0.mutations.map { _ in .failed(error) })) }
            }
        }

        private static let scrubPatience = Duration.milliseconds(250)

        /// The connection that writes to the file that stands at the path now.
        func writer(deadline: MonotonicInstant) throws(BackendError) -> DatabaseWriter {
            guard let file = try fileID() else {
                throw BackendError(
                    .unavailable, "The database \(path) has been removed while it was in use. Nothing was changed; try again.")
            }
            let known = state.withLock(\.writer)
            if let known, known.file == file { return known }
            known?.close(deadline: deadline)
            let writer = try DatabaseWriter(path: path, file: file, clock: runtime.clock, deadline: deadline)
            state.withLock { $0.writer = writer }
            return writer
        }

        private func commitLocked(
            _ requests: [CommitRequest], _ writer: DatabaseWriter, deadline: MonotonicInstant
        ) throws(BackendError) -> [CommitResponse] {
            var responses: [CommitResponse] = []
            var header: DatabaseHeader?
            do throws(BackendError) {
                try writer.transaction(deadline: deadline) { (database) throws(BackendError) in
                    header = try DatabaseHeader(reading: database)
                } _: { rows in
                    if let header { writer.header = header }
                    var isChanged = false
                    for request in requests {
                        guard request.session.file == writer.file, request.session.header == writer.header else {
                            responses.append(.outdated)
                            continue
                        }
                        let (results, changes) = try evaluate(request, rows)
                        responses.append(.results(results))
                        isChanged = isChanged || changes
                    }
                    return isChanged
                }
                return responses
            } catch {
                // What refused a call may be another call of the group, which failed too; and what did not reach the commit changed nothing.
                return requests.map { .results($0.mutations.map { _ in .failed(error) }) }
            }
        }

        // MARK: Deciding

        /// What becomes of one call, inside the transaction.
        private func evaluate(_ request: CommitRequest, _ rows: DatabaseWriter.Rows) throws -> (results: [MutationResult], isChanged: Bool)
        {
            // An address occurs once in a call, so that all conditions can be looked at before anything is changed.
            var found: [RowFinder.Found?] = []
            for (index, mutation) in request.mutations.enumerated() {
                let result: RowFinder.Result
                do throws(SQLiteFault) { result = try rows.finder.find(mutation.address, request.session.keyset, isStill: true) } catch {
                    throw error.backendError()
                }
                var row: RowFinder.Found?
                let probe: StorageProbe
                switch result {
                case .unknownKey(let id): probe = .unavailable(DatabaseSession.missingKey(id))
                case .absent, .needsTransaction: probe = .absent
                case .found(let standing): (probe, row) = (standing.probe, standing)
                }
                found.append(row)
                if let refusal = probe.refusal(of: mutation) {
                    var results = [MutationResult](repeating: .notAttempted, count: request.mutations.count)
                    results[index] = refusal
                    return (results, false)
                }
            }
            var isChanged = false
            var results: [MutationResult] = []
            for (mutation, row) in zip(request.mutations, found) {
                isChanged = isChanged || row != nil || mutation.operation != .delete
                results.append(try carryOut(mutation, row, request.session.keyset, rows))
            }
            return (results, isChanged)
        }

        private func carryOut(
            _ mutation: StorageMutation, _ row: RowFinder.Found?, _ keyset: Keyset, _ rows: DatabaseWriter.Rows
        ) throws -> MutationResult {
            let content: RowContent
            switch mutation.operation {
            case .delete:
                if let row { try rows.delete(row.id) }
                return .applied(nil, .durable)
            case .put(let payload, let metadata):
                guard case .bytes(let bytes) = payload else {
                    throw BackendError(.unsupported, "The database keeps bytes only. Nothing was changed.")
                }
                content = RowContent(mutation.address, .value, metadata, payload: bytes)
            case .tombstone(let metadata):
                content = RowContent(mutation.address, .tombstone, metadata)
                rows.hasRemoved = rows.hasRemoved || row != nil
            }
            let slot = keyset.active.slot(of: mutation.address, table: DatabaseFormat.table)
            // Beginning anywhere, the number does not tell how often a row was changed.
            let version: Int64
            if let known = row?.version, known > 0, known < .max {
                version = known + 1
            } else {
                version = Int64(runtime.randomBits() & 0xFFFF_FFFF) + 1
            }
            let sealed = try SealedRow.seal(
                content, slot: slot, version: version, with: keyset.active, database: keyset.database, runtime.randomBytes)
            if let row, row.key.id == keyset.active.id {
                try rows.replace(row.id, slot, version: version, sealed: sealed)
            } else {
                // A row of an older key has another place.
                if let row { try rows.delete(row.id) }
                try rows.insert(slot, version: version, sealed: sealed)
            }
            return .applied(SealedRow.revision(of: sealed), .durable)
        }

        // MARK: The log

        /// Writes the log back after the callers have been answered.
        private func checkpointLater() { scheduleOnLane { self.checkpointNow() } }

        private func checkpointNow() {
            guard let writer = state.withLock(\.writer) else { return }
            do throws(BackendError) {
                try locked(deadline: runtime.clock.now.advanced(by: .seconds(1))) { writer.checkpoint() }
            } catch {
                // The log grows a little longer; the next commit tries again.
            }
        }

        /// Makes durable what a look could have seen. LocalData's own commits are when they show; another program's need not be.
        func synchronize(deadline: MonotonicInstant) throws(BackendError) {
            guard try fileID() != nil else { return }
            try locked(deadline: deadline) { () throws(BackendError) in
                // Only the log is opened here: closing a descriptor of the database itself would drop the locks that SQLite holds on it.
                do throws(FileError) {
                    if try files.status(path + "-wal") != nil { try files.synchronizeFile(path + "-wal") }
                    try files.synchronizeDirectory(parentDirectory(of: path))
                } catch {
                    throw error.backendError()
                }
                if let writer = state.withLock(\.writer), writer.mustScrub { writer.scrub(deadline: deadline) }
            }
        }
    }
#endif
