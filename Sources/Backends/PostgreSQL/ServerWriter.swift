#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import Sealing

    /// A batch of changes that waits for a transaction.
    struct WriteRequest: Sendable {
        /// A change of one row.
        struct Change: Sendable {
            let mutation: StorageMutation
            let place: RowPlace
            /// The row to store; nil for a change that stores none.
            let row: StoredRow?
        }

        let session: ServerSession
        let changes: [Change]
    }

    /// The result of a ``WriteRequest``.
    enum WriteResponse: Sendable {
        case results([MutationResult])
        /// The header has changed since the rows were sealed. Nothing was changed.
        case outdated
    }

    /// Carries out the batches of waiting callers in one transaction of two round trips. The first one locks the rows, and
    /// the second one writes and commits.
    ///
    /// Preconditions are checked between the two, on rows that are locked. A row that must stay absent is inserted; if
    /// another transaction inserts it first, the transaction fails, and is repeated.
    struct ServerWriter: Sendable {
        let link: ServerLink
        let context: [UInt8]

        private var tables: ServerTables { link.facts.tables }
        private var runtime: Runtime { link.facts.runtime }

        /// How long a connection may finish a statement after the deadline of its callers, so that the server ends it
        /// first.
        static let grace = Duration.seconds(2)

        /// Returns whether a transaction purges old keys and notes of deletions. A purge deletes up to 10,000 rows of each table. The chance
        /// grows with the number of statements, so more rows are purged than transactions of any size add.
        /// - Parameter bits: Random bits.
        static func isPurging(_ bits: UInt64, statements: Int) -> Bool { bits % 1_024 < UInt64(max(1, statements)) }

        /// Carries out batches, each as a whole. Repeats the transaction until the deadline after a conflict with another
        /// transaction or a lost connection.
        func perform(_ requests: [WriteRequest], _ deadline: MonotonicInstant) -> [Result<WriteResponse, BackendError>] {
            var pause = Duration.milliseconds(2)
            while true {
                let fault: ServerFault
                do throws(ServerFault) {
                    switch try attempt(requests, deadline) {
                    case .committed(let responses): return responses.map { .success($0) }
                    case .unanswered(let commit):
                        guard let isCommitted = isCommitted(commit, deadline) else {
                            return failure(.lost("The connection was lost while the server committed."), requests, outcome: .unknown)
                        }
                        if isCommitted { return commit.responses.map { .success($0) } }
                        continue
                    }
                } catch { fault = error }
                // Another machine has destroyed the data key. The rows must be sealed again.
                if fault.isKeyGone { return requests.map { _ in .success(.outdated) } }
                // Only the caller whose change the server drops must fail.
                if fault.isDrop, requests.count > 1 { return requests.flatMap { perform([$0], deadline) } }
                let wait = link.jittered(pause)
                guard fault.isRetriable || fault.isConnectionLost, runtime.clock.now.advanced(by: wait) < deadline, fault.state != "08L01",
                    fault.state != "08L04"
                else { return failure(fault, requests) }
                runtime.clock.pause(wait)
                pause = min(pause * 2, .milliseconds(200))
            }
        }

        private func failure(
            _ fault: ServerFault, _ requests: [WriteRequest], outcome: MutationOutcome = .notApplied
        ) -> [Result<WriteResponse, BackendError>] {
            let error = fault.backendError(outcome: outcome)
            return requests.map { _ in .failure(error) }
        }

        /// A transaction whose commit was not answered: its key, and its results if it was committed.
        private struct Unanswered {
            let key: [UInt8]
            let responses: [WriteResponse]
        }

        private enum Attempt {
            case committed([WriteResponse])
            case unanswered(Unanswered)
        }

        private func attempt(_ requests: [WriteRequest], _ deadline: MonotonicInstant) throws(ServerFault) -> Attempt {
            let slots = Set(requests.flatMap { $0.changes.map(\.place) }).sorted()
            let limit = deadline.advanced(by: Self.grace)
            let milliseconds = runtime.clock.now.duration(to: deadline).wholeNanoseconds / 1_000_000
            return try link.use(until: limit) { (connection) throws(ServerFault) in
                let begin = ServerTables.begin(milliseconds: milliseconds) + [tables.version(context), tables.lock(context, slots)]
                let (found, doubt) = try connection.endingFailed(limit) { () throws(ServerFault) in
                    let found = try connection.run(begin, until: limit)
                    let isAbsence = found[3].rows.count < slots.count
                    return (found, try link.doubt(about: found[2].rows.first, 1, isAbsence: isAbsence, connection, until: limit))
                }
                var draft = WriteDraft(version: found[2].rows.first?[0], rows: found[3].rows, doubt: doubt?.backendError())
                let responses = requests.map { draft.add($0, durability: link.facts.durability) }
                let places = draft.changedPlaces
                let writes = draft.writes(places, tables: tables, context: context)
                // The rows may be those of a commit that a standby does not have yet. The key of this one waits for it.
                if writes.isEmpty, !link.facts.epoch.waitsForStandby {
                    _ = try connection.run([ServerTables.commit], until: limit)
                    return .committed(responses)
                }
                let key = runtime.randomBytes(ServerRow.revisionLength)
                let purge = Self.isPurging(runtime.randomBits(), statements: writes.count) ? tables.purge : []
                // A timeout during the wait for a standby would acknowledge a commit that the standby does not have.
                let patience = link.facts.epoch.waitsForStandby ? [ServerTables.withoutTimeout] : []
                let record = tables.record(key, context: context, rows: draft.expectedRows(places), deletions: draft.deletions(places))
                let rest = writes + purge + [record] + patience + [ServerTables.commit]
                do throws(ServerFault) {
                    let done = try connection.endingFailed(limit) { () throws(ServerFault) in try connection.run(rest, until: limit) }
                    // The wait for a standby was cancelled. The question of the key waits again.
                    if connection.hasWarned { return .unanswered(Unanswered(key: key, responses: responses)) }
                    let row = done[writes.count + purge.count].rows.first ?? [nil, nil]
                    let commit = AcknowledgedCommit(key: key, time: row.double(0), position: row.integer(1))
                    // The answer of a server that is separated from its successor does not count.
                    guard link.acknowledge(commit) else {
                        return .unanswered(Unanswered(key: key, responses: responses))
                    }
                    link.facts.hint?()
                    return .committed(responses)
                } catch {
                    guard error.isConnectionLost else { throw error }
                    return .unanswered(Unanswered(key: key, responses: responses))
                }
            }
        }

        /// Returns whether a transaction was committed, whose commit was not answered. If it was not, it never will be. Nil
        /// if the server does not answer before the deadline.
        private func isCommitted(_ unanswered: Unanswered, _ deadline: MonotonicInstant) -> Bool? {
            link.close()
            var pause = Duration.milliseconds(10)
            while true {
                do throws(ServerFault) {
                    let milliseconds = runtime.clock.now.duration(to: deadline).wholeNanoseconds / 1_000_000
                    let question = ServerTables.begin(milliseconds: milliseconds) + tables.settle(unanswered.key) + [ServerTables.commit]
                    let row = try link.use(until: deadline) { (connection) throws(ServerFault) in
                        let row = try connection.run(question, until: deadline)[3].rows.first ?? []
                        // The question waits for the standby, too. If that wait was cancelled, the answer may be lost with this server.
                        if connection.hasWarned { throw .lost("The wait for a standby was cancelled.") }
                        return row
                    }
                    guard !row.isEmpty else { return nil }
                    guard row.isTrue(0) else { return false }
                    guard link.acknowledge(AcknowledgedCommit(key: unanswered.key, time: row.double(1), position: row.integer(2))) else {
                        throw .lost(ServerEpoch.moved)
                    }
                    return true
                } catch {
                    link.close()
                    guard error.isConnectionLost, runtime.clock.now.advanced(by: pause) < deadline else { return nil }
                    runtime.clock.pause(link.jittered(pause))
                    pause = min(pause * 2, .milliseconds(500))
                }
            }
        }
    }

    /// The rows of a transaction, as its batches change them one after the other.
    struct WriteDraft {
        private let version: [UInt8]?
        /// The reason why a missing row proves nothing; nil if it proves that there is no value.
        private let doubt: BackendError?
        private let before: [RowPlace: StoredRow]
        private var after: [RowPlace: StoredRow]
        /// The places that must be absent until the transaction is committed, although it writes nothing there.
        private var claimed: Set<RowPlace> = []

        /// Creates a draft.
        /// - Parameters:
        ///   - version: The version of the header; nil if there is no database.
        ///   - rows: The locked rows.
        ///   - doubt: The reason why a missing row proves nothing.
        init(version: [UInt8]?, rows: [[[UInt8]?]], doubt: BackendError? = nil) {
            (self.version, self.doubt) = (version, doubt)
            before = Dictionary(rows.map(StoredRow.parse)) { first, _ in first }
            after = before
        }

        /// Adds a batch. If one of its changes is refused, the batch changes nothing.
        mutating func add(_ request: WriteRequest, durability: StorageDurability) -> WriteResponse {
            guard request.session.version == version else { return .outdated }
            var (rows, claims) = (after, claimed)
            var results: [MutationResult] = []
            for (index, change) in request.changes.enumerated() {
                let row = rows[change.place]
                let probe = row.map { request.session.form.content(change.place, $0).1 } ?? probeOfNothing(change.mutation.precondition)
                if let refusal = probe.withNativeValue.refusal(of: change.mutation) {
                    return .results(request.changes.map(\.mutation).results(endingIn: refusal, at: index))
                }
                switch change.mutation.operation {
                case .put, .tombstone: rows[change.place] = change.row
                case .delete: rows[change.place] = nil
                case .check: break
                }
                // A single change of an absent row has its effect when the row is read. In a batch, the row must still be
                // absent when the other changes are committed.
                if row == nil, change.row == nil, request.changes.count > 1 { claims.insert(change.place) }
                results.append(.applied(rows[change.place].map { StorageRevision($0.revision) }, durability))
            }
            (after, claimed) = (rows, claims)
            return .results(results)
        }

        /// Returns the state of a slot without a row. A change that replaces any content needs no proof of absence.
        private func probeOfNothing(_ precondition: StorageMutation.Precondition) -> StorageProbe {
            switch precondition {
            case .none, .replaceable: .absent
            case .absent, .revision: doubt.map { StorageProbe.unavailable($0) } ?? .absent
            }
        }

        /// The slots that the statements change, in the order of the primary keys.
        var changedPlaces: [RowPlace] {
            claimed.union(before.keys).union(after.keys).filter { place in
                claimed.contains(place) || before[place]?.revision != after[place]?.revision
            }.sorted()
        }

        /// Returns the rows of changed slots after the changes.
        func expectedRows(_ places: [RowPlace]) -> [ServerTables.ExpectedRow] {
            places.map { ServerTables.ExpectedRow(place: $0, revision: after[$0]?.revision ?? []) }
        }

        /// Returns the number of changed slots whose deletion is noted.
        func deletions(_ places: [RowPlace]) -> Int { places.count { before[$0] != nil && after[$0] == nil } }

        /// Returns the statements that change the slots.
        func writes(_ places: [RowPlace], tables: ServerTables, context: [UInt8]) -> [ServerStatement] {
            places.flatMap { place -> [ServerStatement] in
                switch (before[place], after[place]) {
                case (nil, let row?): return [tables.insert(context, place, row)]
                case (.some, let row?): return [tables.update(context, place, row)]
                case (.some, nil): return [tables.delete(context, place), tables.noteDeletion(context, place)]
                case (nil, nil):
                    let claim = StoredRow(revision: [UInt8](repeating: 0, count: ServerRow.revisionLength), key: nil, record: [])
                    return [tables.insert(context, place, claim), tables.delete(context, place)]
                }
            }
        }
    }

    extension StoredRow {
        /// Reads the columns `namespace`, `slot`, `revision`, `key` and `record`.
        static func parse(_ row: [[UInt8]?]) -> (RowPlace, StoredRow) {
            (
                RowPlace(namespace: row.bytes(0), slot: row.bytes(1)),
                StoredRow(revision: row.bytes(2), key: row[3], record: row.bytes(4))
            )
        }
    }
#endif
