#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// A call that changes slots and waits for its commit. It was made with a session, which is the open file with its
    /// keys.
    struct CommitRequest: Sendable {
        let session: DatabaseSession
        let mutations: [StorageMutation]
        /// Receives the rows that the call writes; nil to note none.
        let written: WrittenRows?

        /// Returns whether the call was made with a session of this file, in which the database had this header.
        func isFor(_ file: DatabaseFile.FileID, _ header: DatabaseHeader) -> Bool { session.file == file && session.header == header }
    }

    /// The rows that a call wrote.
    final class WrittenRows: Sendable {
        struct Row: Sendable {
            let slot: [UInt8]
            let version: Int64
            let sealed: [UInt8]
        }

        private let noted = Mutex<[Row]>([])

        var rows: [Row] { noted.withLock(\.self) }
        func clear() { noted.withLock { $0 = [] } }
        func note(_ row: Row) { noted.withLock { $0.append(row) } }
    }

    /// The result of a call.
    enum CommitResponse: Sendable {
        case results([MutationResult])
        /// The file or its keys have changed since the call was made. Nothing was changed, and the caller repeats the
        /// call with a new session.
        case outdated
    }

    extension StorageMutation {
        /// The record that the caller has read in the slot, without its payload; nil if the row must be opened.
        fileprivate var knownRecord: StorageRecord? {
            guard let knownMetadata, case .revision(let revision) = precondition else { return nil }
            return StorageRecord(payload: .bytes([]), metadata: knownMetadata, revision: revision)
        }
    }

    /// Group commit: one transaction carries out all calls that are waiting.
    extension DatabaseFile {
        /// Carries out calls in one transaction with one flush, under the lock between processes. Each call is one
        /// atomic batch, and later calls see the changes of earlier ones.
        /// - Parameters:
        ///   - deadline: When to stop waiting for other processes.
        ///   - progressed: Called while the work continues.
        func commit(
            _ requests: [CommitRequest], deadline: MonotonicInstant, progressed: () -> Void
        ) -> [Result<CommitResponse, BackendError>] {
            do throws(BackendError) {
                guard let writer = try writer(deadline: deadline) else { return requests.map { _ in .success(.outdated) } }
                let responses = try commit(requests, writer, deadline: deadline, progressed)
                // Remove deleted bytes from the write-ahead log too, before the callers get their results.
                // Reason: "A removal truncates the log before its answer" in Docs/Decisions/LocksAndCommits.md.
                writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                if writer.isLogLong { lane.enqueue { self.checkpoint() } }
                return responses.map { .success($0) }
            } catch {
                return requests.map { _ in .failure(error) }
            }
        }

        static let scrubLimit = Duration.milliseconds(250)

        private func commit(
            _ requests: [CommitRequest], _ writer: DatabaseWriter, deadline: MonotonicInstant, _ progressed: () -> Void
        ) throws(BackendError) -> [CommitResponse] {
            var steps = 0
            // One report to every caller of a large group takes as long as one step of a call. So progress is reported
            // only every 64 steps.
            func stepped() {
                if steps % 64 == 0 { progressed() }
                steps += 1
            }
            var responses: [CommitResponse] = []
            var isChanged = false
            try writer.transaction(deadline: deadline) { header in
                requests.first { $0.isFor(writer.file, header) }?.session.keyset
            } _: { (rows) throws(BackendError) in
                // A call may add a feature (an extension of the format) to the header. So compare all requests with the
                // header from before the first call.
                let header = rows.header
                for request in requests {
                    guard !isLocked, request.isFor(writer.file, header) else {
                        responses.append(.outdated)
                        continue
                    }
                    // A single call needs no savepoint, because it is undone with its transaction.
                    let outcome = requests.count == 1 ? evaluate(request, rows, stepped) : try rows.one { evaluate(request, rows, stepped) }
                    responses.append(.results(outcome.results))
                    isChanged = isChanged || outcome.isChanged
                }
                return isChanged
            }
            if isChanged { try confirm(writer.file) }
            return responses.isEmpty ? requests.map { _ in .outdated } : responses
        }

        /// Checks that the file at the path is the one that the commit was written to.
        func confirm(_ file: FileID) throws(BackendError) {
            let current: FileID?
            do throws(BackendError) { current = try fileAtPath() } catch {
                throw BackendError(error.code, error.reason, outcome: .unknown)
            }
            guard current == file else {
                throw BackendError(
                    .unavailable,
                    "The database was replaced by another file while it was written. Read before repeating the change.", outcome: .unknown)
            }
        }

        // MARK: Deciding

        /// Carries out one call inside the transaction.
        /// - Parameters:
        ///   - stepped: Called before each mutation is checked, and before it is carried out.
        private func evaluate(_ request: CommitRequest, _ rows: DatabaseWriter.Rows, _ stepped: () -> Void) -> CallOutcome {
            // An address occurs only once in a call, so all preconditions can be checked before anything is changed.
            let moves = rows.moves
            request.written?.clear()
            var found: [RowFinder.Found?] = []
            for (index, mutation) in request.mutations.enumerated() {
                stepped()
                let (probe, row) = look(mutation, request.session.keyset, rows)
                found.append(row)
                if let refusal = probe.refusal(of: mutation) {
                    return CallOutcome(results: request.mutations.results(endingIn: refusal, at: index))
                }
            }
            var isChanged = false
            var results: [MutationResult] = []
            for (index, (mutation, known)) in zip(request.mutations, found).enumerated() {
                stepped()
                // If this call has deleted a row, other rows may have moved to another id. Then find the row again.
                let row = known == nil || rows.moves == moves ? known : look(mutation, request.session.keyset, rows).row
                isChanged = isChanged || mutation.operation != .check && (row != nil || mutation.operation != .delete)
                do throws(BackendError) { results.append(try carryOut(mutation, row, request, rows)) } catch {
                    return CallOutcome(results: request.mutations.results(endingIn: .failed(error), at: index), failure: error)
                }
            }
            return CallOutcome(results: results, isChanged: isChanged)
        }

        /// Returns the state of the slot with this address. `keyset` has all keys of the header in this transaction. So
        /// a row that was sealed with a key outside `keyset` is damaged. If SQLite cannot read the row, only this slot
        /// is reported as unavailable.
        private func look(
            _ mutation: StorageMutation, _ keyset: Keyset, _ rows: DatabaseWriter.Rows
        ) -> (probe: StorageProbe, row: RowFinder.Found?) {
            do throws(SQLiteFault) {
                switch try rows.finder.find(
                    mutation.address, keyset, inTransaction: true, computesTerm: true, known: mutation.knownRecord)
                {
                case .absent, .needsTransaction: return (.absent, nil)
                case .found(let row): return (row.probe, row)
                }
            } catch {
                return (.unavailable(error.backendError()), nil)
            }
        }

        private func carryOut(
            _ mutation: StorageMutation, _ row: RowFinder.Found?, _ request: CommitRequest, _ rows: DatabaseWriter.Rows
        ) throws(BackendError) -> MutationResult {
            let keyset = request.session.keyset
            let content: RowContent
            switch mutation.operation {
            case .check: return .applied(row?.probe.revision, .durable)
            case .delete:
                try rows.relabel(mutation.address, row, nil, keyset)
                if let row { try clear(row, mutation.address, keyset, rows) }
                return .applied(nil, .durable)
            case .put(.bytes(let bytes), let metadata):
                content = RowContent(mutation.address, .value, metadata, payload: bytes)
            case .put: throw BackendError(.unsupported, "The database keeps bytes only. Nothing was changed.")
            case .tombstone(let metadata):
                content = RowContent(mutation.address, .tombstone, metadata)
                rows.hasRemoved = rows.hasRemoved || row != nil
            }
            return .applied(SealedRow.revision(of: try write(content, over: row, keyset, rows, noting: request.written)), .durable)
        }

        /// Seals a row with the active key and writes it and its labels (index entries for queries). An existing row
        /// with the same name is replaced.
        /// - Returns: The sealed bytes.
        func write(
            _ content: RowContent, over row: RowFinder.Found?, _ keyset: Keyset, _ rows: DatabaseWriter.Rows,
            noting written: WrittenRows? = nil
        ) throws(BackendError) -> [UInt8] {
            let address = content.address
            try rows.relabel(address, row, content.kind == .value ? content.metadata : nil, keyset)
            let place = row.flatMap { $0.key.id == keyset.active.id ? $0 : nil }
            let slot = place?.slot ?? keyset.active.slot(of: address, table: DatabaseFormat.table)
            // A new row gets a random version, so that the version does not reveal how often the row was changed.
            // Reason: "The version of a row starts at a random number" in Docs/Decisions/Database.md.
            let version: Int64
            if let known = row?.version, known > 0, known < .max {
                version = known + 1
            } else {
                version = Int64(runtime.randomBits() & 0xFFFF_FFFF) + 1
            }
            let sealed = try SealedRow.seal(content, slot: slot, version: version, with: keyset.active, runtime.randomBytes)
            if let place {
                try rows.replace(place, version: version, sealed: sealed)
                try rows.deleteOthers(slot, above: place.id)
                for key in keyset.decryptOnly { try rows.deleteAll(key.slot(of: address, table: DatabaseFormat.table)) }
            } else {
                // A row that was sealed with an older key is stored under another slot, because the slot is a hash
                // under that key. So that row is deleted, and a new one inserted.
                if let row { try clear(row, address, keyset, rows) }
                try rows.insert(slot, version: version, sealed: sealed)
            }
            written?.note(WrittenRows.Row(slot: slot, version: version, sealed: sealed))
            return sealed
        }

        /// Deletes a row and all other rows with the same name. An attacker may have inserted a copy of an older row.
        /// That copy must not become the current row.
        private func clear(
            _ row: RowFinder.Found, _ address: StorageAddress, _ keyset: Keyset, _ rows: DatabaseWriter.Rows
        ) throws(BackendError) {
            try rows.delete(at: row.id)
            for key in [keyset.active] + keyset.decryptOnly { try rows.deleteAll(key.slot(of: address, table: DatabaseFormat.table)) }
        }

        // MARK: The log

        /// Writes the log back into the database. Runs after the callers have got their results.
        private func checkpoint() {
            guard let writer = openWriter else { return }
            do throws(BackendError) {
                try locked(deadline: clock.now.advanced(by: .seconds(1))) {
                    writer.checkpoint(deadline: clock.now.advanced(by: Self.scrubLimit))
                }
            } catch {
                // Ignore the error: the log grows a little longer, and the next commit tries again.
            }
        }

        /// Overwrites a transaction that is in the log but not in the log's index. The process that wrote it was
        /// killed, and SQLite's next recovery would apply it. Waits if a running process is just committing.
        func settleLog(deadline: MonotonicInstant) throws(BackendError) {
            try locked(deadline: deadline) { () throws(BackendError) in try writer(deadline: deadline)?.settleLog(deadline: deadline) }
        }

        /// Makes durable everything that a read may have returned. LocalData's commits are durable before they are
        /// visible. Another program may have made commits that are visible but not durable. The caller holds the lock.
        func flush(deadline: MonotonicInstant) throws(BackendError) {
            guard try fileID() != nil else { return }
            // If the log is written again, that is done before its flush.
            if try hasLog() { _ = try writer(deadline: deadline) }
            // Open the log only. Closing a descriptor of the database itself would release the locks that SQLite holds
            // on it.
            try onFiles { (files) throws(FileError) in
                try synchronizeLog()
                try files.synchronizeDirectory(parentDirectory(of: path))
            }
            // Without a log there is no transaction to overwrite.
            guard try hasLog() else { return }
            let writer = try writer(deadline: deadline)
            try writer?.settleLog(deadline: deadline)
            writer?.scrubIfNeeded(deadline: deadline)
        }
    }
#endif
