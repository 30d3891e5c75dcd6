#if PostgreSQL
    package import BackendContract
    package import BackendRuntime
    import Crypto
    package import Sealing
    import Synchronization

    /// A store of rows in a PostgreSQL database, which many machines can share.
    ///
    /// Names, values and metadata are sealed on this machine, unless the store is plain. The data key is in the
    /// database, wrapped with a key from a ``KeySource``. `Docs/Formats.md` describes the format and the
    /// tables. A change is durable on the server when it is acknowledged.
    ///
    /// Calls that wait at the same time share one transaction. A call that finds a free connection does not wait.
    package final class PostgreSQLStore: LockableBackend {
        package let identity: BackendIdentity
        package let capabilities: BackendCapabilities

        /// The size of the largest value in bytes, including its metadata.
        package static let maximumValueSize = 16 << 20

        let keys: SealingKeys
        /// The source of the key that wraps the data key; nil for a plain store.
        let source: (any KeySource)?
        let context: StoreContext
        /// The key of the database in every table: the first 16 bytes of SHA-256 of the encoded context.
        let contextKey: [UInt8]
        let facts: ServerFacts
        let runtime: Runtime
        let otherSealedIDs: @Sendable () async throws(BackendError) -> Set<[UInt8]>
        let companions: @Sendable () throws(BackendError) -> [PostgreSQLStore]
        let notes: HeaderNotes
        private let deadline: Duration
        private let readers: [Worker<ReadRequest, ReadAnswer>]
        private let writers: [Worker<WriteRequest, WriteResponse>]
        /// The lane and connection for the header, and for lists and other long work.
        let link: ServerLink
        /// The lane and connection for reads that allow a stale result.
        let standby: ServerLink
        let hints: ChangeHints
        private let state = Mutex(State())

        private struct State {
            var session: ServerSession?
            /// The session that was last found to be outdated.
            var outdated: ServerSession?
            var isLocked = false

            /// Notes an outdated session. Returns whether it was not noted before, by another caller.
            mutating func isNew(_ session: ServerSession) -> Bool {
                defer { outdated = session }
                return outdated !== session
            }
        }

        /// Statements that only read.
        private struct ReadRequest: Sendable {
            let statement: ServerStatement
        }

        private struct ReadAnswer: Sendable {
            let rows: [[[UInt8]?]]
            /// The reason why a missing row proves nothing; nil if it proves that there is no value.
            let doubt: ServerFault?
        }

        /// A connection that serves waiting callers in groups.
        private struct Worker<Request: Sendable, Response: Sendable>: Sendable {
            let link: ServerLink
            let calls: GroupCommit<Request, Response>
            let load: Load
        }

        /// The number of calls that a worker has not answered.
        private final class Load: Sendable {
            let count = Atomic(0)
        }

        /// Creates a store. Connects only when the store is first used.
        /// - Parameters:
        ///   - conninfo: A URI or keywords and values for libpq; may be empty.
        ///   - schema: The schema of the tables.
        ///   - context: The application, kind and scope that the store belongs to.
        ///   - keys: The keys of the program's sources.
        ///   - source: The source of the key that wraps the data key; nil for a plain store.
        ///   - otherSealedIDs: Returns the ids of keys that have sealed something elsewhere.
        ///   - companions: Creates the internal stores of the application in the same schema. Each recovery key of this
        ///     store opens them too.
        ///   - notes: Returns the place of the note about a database's latest header.
        ///   - connections: The number of connections for reads and writes together, at least 2. One more is used for
        ///     lists.
        ///   - keepsNativeValues: Whether the store keeps native values, as the library's internal stores do.
        ///   - deadline: How long a call may take.
        ///   - runtime: The clock, lanes and random numbers to use.
        package init(
            conninfo: String, schema: String, context: StoreContext, keys: SealingKeys, source: (any KeySource)?,
            otherSealedIDs: @escaping @Sendable () async throws(BackendError) -> Set<[UInt8]> = { () throws(BackendError) in [] },
            companions: @escaping @Sendable () throws(BackendError) -> [PostgreSQLStore] = { () throws(BackendError) in [] },
            notes: @escaping HeaderNotes.Place = { (_) throws(BackendError) in nil },
            connections: Int, keepsNativeValues: Bool = false, deadline: Duration, runtime: Runtime
        ) {
            (self.context, self.keys, self.source, self.otherSealedIDs) = (context, keys, source, otherSealedIDs)
            (self.companions, self.deadline, self.runtime) = (companions, deadline, runtime)
            self.notes = HeaderNotes(notes)
            let contextKey = Array(SHA256.hash(data: context.bytes).prefix(DataKey.slotLength))
            self.contextKey = contextKey
            identity = BackendIdentity(
                kind: "postgresql",
                store:
                    "\(hexadecimalText(of: SHA256.hash(data: Array(conninfo.utf8)).prefix(8)))/\(schema)/\(hexadecimalText(of: contextKey))"
            )
            capabilities = BackendCapabilities(
                durability: .durable, atomicBatch: true, crossProcess: true, protection: source?.protection ?? .plain,
                maximumValueSize: Self.maximumValueSize, storesNativeValues: keepsNativeValues, sealsNames: source != nil,
                usefulConcurrency: 256)
            let hints = ChangeHints(contextKey, runtime)
            self.hints = hints
            let facts = ServerFacts(conninfo: conninfo, tables: ServerTables(schema: schema), runtime: runtime) { hints.schedule() }
            self.facts = facts
            link = ServerLink("postgresql.lists", facts)
            standby = ServerLink("postgresql.stale", facts, readsStandby: true)
            hints.send(on: link)
            let (clock, half) = (runtime.clock, max(1, connections / 2))
            readers = (0..<half).map { number in
                let link = ServerLink("postgresql.read.\(number)", facts)
                let calls = GroupCommit<ReadRequest, ReadAnswer>(lane: link.lane, clock: clock, maximumGroup: 256) {
                    requests, deadline, _ in
                    Self.read(requests, link, deadline)
                }
                return Worker(link: link, calls: calls, load: Load())
            }
            writers = (0..<max(1, connections - half)).map { number in
                let link = ServerLink("postgresql.write.\(number)", facts)
                let writer = ServerWriter(link: link, context: contextKey)
                let calls = GroupCommit<WriteRequest, WriteResponse>(
                    lane: link.lane, clock: clock, maximumGroup: 256, maximumWeight: 1_024, weight: \.changes.count
                ) { requests, deadline, _ in writer.perform(requests, deadline) }
                return Worker(link: link, calls: calls, load: Load())
            }
        }

        /// Runs the statements of waiting callers in one round trip.
        private static func read(
            _ requests: [ReadRequest], _ link: ServerLink, _ deadline: MonotonicInstant
        ) -> [Result<ReadAnswer, BackendError>] {
            let statements = requests.map(\.statement)
            do throws(ServerFault) {
                let (results, doubt) = try link.read(until: deadline) { (connection) throws(ServerFault) in
                    let results = try connection.run(statements, until: deadline)
                    let isAbsence = results.contains { $0.rows.contains { $0[2] == nil } }
                    let row = results.first?.rows.first
                    return (results, try link.doubt(about: row, 1, isAbsence: isAbsence, connection, until: deadline))
                }
                return results.map { .success(ReadAnswer(rows: $0.rows, doubt: doubt)) }
            } catch { return requests.map { _ in .failure(error.backendError()) } }
        }

        private func submit<Request: Sendable, Response: Sendable>(
            _ request: Request, to workers: [Worker<Request, Response>], deadline: MonotonicInstant, isMutation: Bool
        ) async throws(BackendError) -> Response {
            // The worker with the fewest waiting calls: a free one if there is one.
            let worker = workers.min { $0.load.count.load(ordering: .relaxed) < $1.load.count.load(ordering: .relaxed) }
            guard let worker else { throw BackendError(.failed, "The store has no connection.") }
            worker.load.count.add(1, ordering: .relaxed)
            defer { worker.load.count.subtract(1, ordering: .relaxed) }
            return try await worker.calls.submit(request, deadline: deadline, isMutation: isMutation)
        }

        // MARK: Reading

        package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            do throws(BackendError) {
                let deadline = nextDeadline
                if case .stale(let limit) = freshness { return try await readStale(addresses, upTo: limit, deadline) }
                var known = try await opened(deadline)
                while true {
                    guard let session = known else { return addresses.map(\.probeOfNothing) }
                    let places = addresses.map(session.form.place)
                    if places.isEmpty { return [] }
                    let request = ReadRequest(statement: facts.tables.read(contextKey, places))
                    let answer = try await submit(request, to: readers, deadline: deadline, isMutation: false)
                    if let probes = Self.probes(addresses, places, answer.rows, session, answer.doubt) { return probes }
                    known = try await opened(insteadOf: session, deadline)
                }
            } catch { return try error.probes(addresses.count) }
        }

        /// Returns the content of the rows; nil if the header has changed.
        static func probes(
            _ addresses: [StorageAddress], _ places: [RowPlace], _ rows: [[[UInt8]?]], _ session: ServerSession, _ doubt: ServerFault?
        ) -> [StorageProbe]? {
            guard rows.count == places.count, rows.allSatisfy({ $0.bytes(0) == session.version }) else { return nil }
            return rows.indices.map { index in
                guard let revision = rows[index][2] else {
                    return doubt.map { StorageProbe.unavailable($0.backendError()) } ?? addresses[index].probeOfNothing
                }
                let row = StoredRow(revision: revision, key: rows[index][3], record: rows[index].bytes(4))
                return session.form.content(places[index], row).1.withNativeValue
            }
        }

        package func status() async -> BackendStatus {
            do throws(BackendError) {
                let (header, session) = (try await storedHeader(nextDeadline), state.withLock(\.session))
                _ = try await opened(insteadOf: header?.version == session?.version ? nil : session, nextDeadline)
                return .ready
            } catch { return error.code == .locked ? .locked : .unavailable(error) }
        }

        // MARK: Writing

        package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
            guard !mutations.isEmpty else { return [] }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            try mutations.requireDistinctAddresses()
            if let refusal = mutations.refused(by: capabilities, in: "a PostgreSQL database") { return refusal }
            do throws(BackendError) {
                let deadline = nextDeadline
                var known = try await opened(deadline)
                while true {
                    guard let session = known else {
                        // Do not create a database that would stay empty.
                        if let results = mutations.resultsWithoutDatabase(facts.durability) { return results }
                        known = try await created(deadline)
                        continue
                    }
                    let request = WriteRequest(session: session, changes: try changes(mutations, session))
                    switch try await submit(request, to: writers, deadline: deadline, isMutation: true) {
                    case .results(let results): return results
                    case .outdated: known = try await opened(insteadOf: session, deadline)
                    }
                }
            } catch { return try error.results(mutations.count) }
        }

        private func changes(_ mutations: [StorageMutation], _ session: ServerSession) throws(BackendError) -> [WriteRequest.Change] {
            var changes: [WriteRequest.Change] = []
            for mutation in mutations {
                let content: RowContent? =
                    switch mutation.operation {
                    case .put(.bytes(let bytes), let metadata): RowContent(mutation.address, .value, metadata, payload: bytes)
                    case .tombstone(let metadata): RowContent(mutation.address, .tombstone, metadata)
                    case .put(.native(let value), let metadata):
                        RowContent(mutation.address, native: value, metadata)
                    case .delete, .check: nil
                    }
                var row: StoredRow?
                if let content {
                    row = try session.form.row(content, revision: runtime.randomBytes(ServerRow.revisionLength), runtime.randomBytes)
                }
                changes.append(WriteRequest.Change(mutation: mutation, place: session.form.place(mutation.address), row: row))
            }
            return changes
        }

        /// Asks the server whether it can be reached. Every committed change is flushed already.
        package func synchronize() async throws(BackendError) -> StorageDurability {
            _ = try await storedHeader(nextDeadline)
            return facts.durability
        }

        // MARK: Opening

        var nextDeadline: MonotonicInstant { runtime.deadline(after: deadline) }

        /// Returns the open database; nil only if the primary server certainly has none.
        /// - Parameters:
        ///   - outdated: A session that was found to be outdated.
        ///   - limit: The age of a result that a standby may answer with; nil if only the primary may answer.
        func opened(
            insteadOf outdated: ServerSession? = nil, _ deadline: MonotonicInstant, staleUpTo limit: Duration? = nil
        ) async throws(BackendError) -> ServerSession? {
            let (known, isLocked) = state.withLock { ($0.session, $0.isLocked) }
            if isLocked { throw BackendError(.locked, "The program has locked the store. Unlock it and try again.") }
            if let known, known !== outdated { return known }
            // The header was changed, or its row was restored from a dump. Then the rows may lack acknowledged changes.
            if let outdated, limit == nil, state.withLock({ $0.isNew(outdated) }) { facts.epoch.suspect() }
            return try await withHeader(deadline, staleUpTo: limit) { (header) throws(BackendError) in
                guard let header else {
                    state.withLock { $0.session = nil }
                    return nil
                }
                let session = try await session(of: header, deadline)
                if let mark = session.keys?.header.mark {
                    // A standby that is behind may have an earlier header. Its keys open rows, and must not seal any.
                    if limit != nil, try await notes.isOlder(mark) { return session }
                    try await notes.require(mark)
                }
                return try state.withLock { state throws(BackendError) in
                    if state.isLocked { throw BackendError(.locked, "The program has locked the store. Unlock it and try again.") }
                    state.session = session
                    return session
                }
            }
        }

        /// Reads the header and runs work with it. Runs the work again if it finds the header older than a noted one, and the
        /// server has another header now: another process may have changed and noted the header since it was read.
        /// - Parameters:
        ///   - limit: The age of a result that a standby may answer with; nil if only the primary may answer.
        ///   - other: Another store in the same schema whose header is read.
        func withHeader<R>(
            _ deadline: MonotonicInstant, staleUpTo limit: Duration? = nil, of other: PostgreSQLStore? = nil,
            _ work: (StoredHeader?) async throws(BackendError) -> R
        ) async throws(BackendError) -> R {
            func read() async throws(BackendError) -> StoredHeader? {
                if let limit { return try await staleHeader(deadline, upTo: limit) }
                return try await storedHeader(deadline, of: other)
            }
            var header = try await read()
            while true {
                do throws(BackendError) { return try await work(header) } catch {
                    guard error.code == .rolledBack else { throw error }
                    let present = try await read()
                    guard present?.version != header?.version else { throw error }
                    header = present
                }
            }
        }

        private func session(of header: StoredHeader, _ deadline: MonotonicInstant) async throws(BackendError) -> ServerSession {
            guard let sealed = header.sealed, let source else {
                guard header.sealed == nil, source == nil else {
                    let (found, wanted) = source == nil ? ("sealed", "plain") : ("plain", "sealed")
                    throw BackendError(
                        .incompatibleServer,
                        "The database on the server is \(found), and this program is configured for a \(wanted) one. Change the configuration, or use another database. Nothing was changed."
                    )
                }
                return ServerSession(version: header.version, form: .plain, keys: nil)
            }
            let unwrapped = try await unwrapped(sealed, source, deadline)
            return ServerSession(version: header.version, form: .sealed(try unwrapped.codec()), keys: unwrapped)
        }

        func unwrapped(
            _ header: ServerHeader, _ source: any KeySource, _ deadline: MonotonicInstant
        ) async throws(BackendError) -> ServerKeys {
            let ids = header.keys.ids(ofSource: source.pin)
            guard !ids.isEmpty else {
                let theirs = Set(header.keys.recipients.map { "\"\($0.source)\"" }).sorted().joined(separator: " or ")
                throw BackendError(
                    .encryptionKeyMismatch,
                    "The database on the server was made with the key in \(theirs); this program is configured for \"\(source.pin)\". Configure that source on every machine. Nothing was changed."
                )
            }
            let fetch = { @Sendable [keys] () async throws(BackendError) in try await keys.key(for: ids, from: source) }
            let kek = try await source.takesItsTime ? fetch() : runtime.run(until: deadline, fetch)
            do throws(BackendError) { return try header.open(.key(kek), in: context) } catch {
                // The next call fetches the key again, because the source may have the right one then.
                if error.code == .encryptionKeyMismatch { await keys.forget(source) }
                throw error
            }
        }

        /// Reads the header of this store, or of another store in the same schema; nil if the server certainly has none.
        func storedHeader(
            _ deadline: MonotonicInstant, of other: PostgreSQLStore? = nil
        ) async throws(BackendError) -> StoredHeader? {
            let contextKey = (other ?? self).contextKey
            let statements = facts.tables.header(contextKey)
            let results = try await onLink(deadline) { [link] (connection, limit) throws(ServerFault) in
                let results = try connection.run(statements, until: limit)
                let row = results[1].rows.first
                let doubt = try link.doubt(about: row, 0, isAbsence: row?[1] == nil, connection, until: limit)
                if let doubt { throw doubt }
                return results
            }
            return try StoredHeader.parse(results, context: contextKey)
        }

        /// Creates the database unless another machine creates it first. Returns the database that exists then.
        func created(_ deadline: MonotonicInstant) async throws(BackendError) -> ServerSession? {
            var header: ServerHeader?
            if let source {
                let create = { @Sendable [keys, otherSealedIDs] () async throws(BackendError) in
                    try await keys.forSealing(from: source, isForNewStore: true, sealedIDs: otherSealedIDs)
                }
                let kek = try await source.takesItsTime ? create() : runtime.run(until: deadline, create)
                header = try ServerHeader.make(context, kek: kek, source: source.pin, runtime.randomBytes)
            }
            let (tables, version) = (facts.tables, runtime.randomBytes(ServerRow.revisionLength))
            let statements =
                ServerTables.begin(milliseconds: (deadline.nanoseconds - runtime.clock.now.nanoseconds) / 1_000_000)
                + tables.create(contextKey, origin: context.bytes, version: version, header)
                + [tables.requireHeader(contextKey, version: version, header: header), ServerTables.commit]
            let isOwn = try await onLink(deadline) { (connection, limit) throws(ServerFault) in
                do throws(ServerFault) {
                    _ = try connection.endingFailed(limit) { () throws(ServerFault) in try connection.run(statements, until: limit) }
                    return true
                } catch {
                    // The row to which the keys refer is missing.
                    if error.isKeyGone { throw .drop(of: "databases") }
                    // Another machine has created it.
                    if error.state != "23505" { throw error }
                    return false
                }
            }
            if isOwn, let header { try await notes.require(header.mark, isOwn: true) }
            return try await opened(deadline)
        }

        /// Runs work on the connection for lists, and repeats it until the deadline if the connection is lost.
        /// - Parameter other: Another lane and connection to use.
        func onLink<R: Sendable>(
            _ deadline: MonotonicInstant, isMutation: Bool = false, other: ServerLink? = nil,
            _ work: @escaping @Sendable (ServerConnection, MonotonicInstant) throws(ServerFault) -> R
        ) async throws(BackendError) -> R {
            let link = other ?? self.link
            return try await link.lane.run(clock: runtime.clock, deadline: deadline, isMutation: isMutation) { (_) throws(BackendError) in
                do throws(ServerFault) {
                    return try link.read(until: deadline) { (connection) throws(ServerFault) in try work(connection, deadline) }
                } catch { throw error.backendError(outcome: isMutation && error.isConnectionLost ? .unknown : .notApplied) }
            }
        }

        /// Forgets the open database, so that the next call opens it again.
        func forgetSession() { state.withLock { $0.session = nil } }

        // MARK: Locking and closing

        /// Unlocks the store that holds the key, which may open a prompt. Then opens the database if there is one.
        package func unlock() async throws(BackendError) {
            endLock()
            try await source?.unlock()
            _ = try await opened(nextDeadline)
        }

        /// Closes all connections and releases the data keys. The next call opens them again.
        package func close() async { await letGo(within: deadline) }

        private func letGo(within limit: Duration) async {
            state.withLock { $0.session = nil }
            let deadline = runtime.clock.now.advanced(by: limit)
            for link in [link, standby] + readers.map(\.link) + writers.map(\.link) {
                _ = try? await link.lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) { (_) throws(BackendError) in
                    link.close()
                }
            }
        }
    }

    extension PostgreSQLStore: WarningBackend {
        package var warning: String? { source == nil ? nil : notes.warning }
    }

    extension PostgreSQLStore: KeyHoldingStore {
        package func lock(within limit: Duration) async {
            state.withLock { $0.isLocked = true }
            await letGo(within: limit)
        }

        package func endLock() { state.withLock { $0.isLocked = false } }

        package func followSource() async -> Bool {
            guard let source, state.withLock({ $0.session != nil }), await source.isLocked() else { return false }
            await letGo(within: .seconds(1))
            return true
        }
    }
#endif
