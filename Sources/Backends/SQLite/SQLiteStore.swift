#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    /// A store of encrypted rows in an SQLite database. Names, values and metadata cannot be read from the file, and
    /// changes to a row are detected.
    ///
    /// A row is found by its slot, which is a keyed hash of its name. The rest of the row is encrypted with
    /// XAES-256-GCM and bound to the slot. The data key is in the database, wrapped with a key from a ``KeySource``.
    /// `Docs/Formats.md` describes the format. The guide `Security` states what is hidden, what leaks and what is not
    /// detected.
    ///
    /// A read of one slot is one short statement on the caller's thread, and waits for no writer in this process or
    /// another one. Changes that wait at the same time share one transaction and one flush. A change is on the disk
    /// when it is acknowledged. The first change creates the database; a read never does.
    package final class SQLiteStore: LockableBackend, ObservableBackend, ImmediateBackend, CountedBackend, BulkBackend {
        /// The path of the file, with every symbolic link resolved when the store was created.
        package let identity: BackendIdentity

        /// The guarantees of the store: durable atomic batches, preconditions that hold between processes, and the
        /// protection level of its key source.
        package let capabilities: BackendCapabilities

        /// The size of the largest value in bytes, including its metadata.
        package static let maximumValueSize = 16 << 20

        let file: DatabaseFile
        let keys: SealingKeys
        let source: any KeySource
        /// The sources whose keys may open the database. The first one is for new databases.
        let sources: [any KeySource]
        /// The application, kind and scope that the database belongs to.
        let context: StoreContext
        let otherSealedIDs: @Sendable () async throws(BackendError) -> Set<[UInt8]>
        let runtime: Runtime
        /// The lane (a serial queue) for writes and everything else that may wait for the disk.
        let lane: any Lane
        /// The lane for reads of many slots, so that no read waits for a flush.
        private let readLane: any Lane
        /// The lane for lists of rows, so that a long list delays nothing else.
        private let scanLane: any Lane
        private let deadline: Duration
        private let commits: GroupCommit<CommitRequest, CommitResponse>
        private let flushes: GroupCommit<Void, Void>

        /// Creates a store. Files are opened or created only when the store is first used.
        /// - Parameters:
        ///   - path: The absolute path of the database.
        ///   - lockPath: The file whose lock is held during commits and checkpoints. It must be the same for all
        ///     programs that write this database (see ``lockPath(forDatabaseAt:in:files:)``). It is created when first
        ///     needed, and never removed.
        ///   - keys: The keys of the program's sources, and the rule for creating a new key.
        ///   - context: The application, kind and scope that the database belongs to. A file with another context is
        ///     not opened.
        ///   - source: The source of the key that wraps the data key of a new database.
        ///   - otherSources: Further sources whose keys may open the database.
        ///   - otherSealedIDs: Returns the ids of keys that have sealed something elsewhere. Called before a first key
        ///     is created.
        ///   - anchor: Records the latest state outside the database; nil for none.
        ///   - deadline: How long a call may wait, and how long its work may make no progress.
        ///   - runtime: The clock, files, lanes and random numbers to use.
        package init(
            path: String, lockPath: String, context: StoreContext, keys: SealingKeys, source: any KeySource,
            otherSources: [any KeySource] = [],
            otherSealedIDs: @escaping @Sendable () async throws(BackendError) -> Set<[UInt8]> = { () throws(BackendError) in [] },
            anchor: (any FreshnessAnchor)? = nil,
            deadline: Duration, runtime: Runtime
        ) {
            let path = runtime.files.resolve(path)
            identity = BackendIdentity(kind: "sqlite", store: path)
            capabilities = BackendCapabilities(
                durability: .durable, atomicBatch: true, crossProcess: true, protection: source.protection,
                maximumValueSize: Self.maximumValueSize, sealsNames: true, usefulConcurrency: 1_024)
            let name = lastComponent(of: path)
            let lane = runtime.makeLane("sqlite.\(name)")
            let follower = anchor.map { AnchorFollower($0, runtime: runtime) }
            let file = DatabaseFile(path: path, lockPath: lockPath, lane: lane, runtime: runtime, follower: follower)
            (self.lane, self.file, self.keys, self.source) = (lane, file, keys, source)
            sources = [source] + otherSources
            (self.context, self.otherSealedIDs, self.deadline, self.runtime) = (context, otherSealedIDs, deadline, runtime)
            readLane = runtime.makeLane("sqlite.\(name).read")
            scanLane = runtime.makeLane("sqlite.\(name).scan")
            // Reason: "A large call is a group alone" in Docs/Decisions/LocksAndCommits.md.
            commits = GroupCommit(
                lane: lane, clock: runtime.clock, maximumGroup: 1_024, maximumWeight: 4_096, weight: \.mutations.count,
                hold: file.lockedForCommits, perform: file.commit)
            flushes = GroupCommit(lane: lane, clock: runtime.clock, hold: file.lockedIfItExists) { requests, deadline, _ in
                let result = Result { () throws(BackendError) in try file.flush(deadline: deadline) }
                return requests.map { result }
            }
        }

        // MARK: Reading

        /// Reads slots from the database. A fresh read always checks that the file at the path is still the same one.
        /// Other reads check it at most ten times a second.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled`. The probes, which are the results for the slots,
        ///   contain every other error.
        package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            do throws(BackendError) {
                // After an error, the thorough read checks whether the file was replaced, or destroyed by another program.
                if addresses.count <= Self.shortRead, let session = session(freshness), let probes = try? session.probes(addresses) {
                    return probes
                }
                return try await readThoroughly(addresses, deadline: nextDeadline)
            } catch { return try error.probes(addresses.count) }
        }

        /// Reads a slot with one statement on the caller's thread. Returns nil if the read would have to wait, or
        /// failed.
        package func immediateProbe(of address: StorageAddress) -> StorageProbe? {
            guard let session = session(.validated) else { return nil }
            return try? session.probe(address)
        }

        package func positions(of addresses: [StorageAddress]) -> [Int64]? {
            guard let key = file.session?.keyset.active else { return nil }
            return addresses.map { RowFinder.home(of: key.slot(of: $0, table: DatabaseFormat.table)) }
        }

        /// Returns the open session if its file is still at the path, and no comparison with the freshness anchor has
        /// failed. The anchor records the latest state outside the file.
        private func session(_ freshness: ReadFreshness) -> DatabaseSession? {
            guard let session = file.session, file.isCurrent(session, freshness), file.follower?.refusal == nil else { return nil }
            return session
        }

        /// The maximum number of slots to read on the caller's thread.
        private static let shortRead = 16

        private func readThoroughly(
            _ addresses: [StorageAddress], deadline: MonotonicInstant
        ) async throws(BackendError) -> [StorageProbe] {
            var deadline = deadline
            var known = try await opened(&deadline)
            let retry = DatabaseSession.Retry.until(deadline, runtime.clock)
            var isSettled = false
            // Repeat until the deadline while the database or its keys are closed or replaced.
            while true {
                guard let session = known else { return addresses.map(\.probeOfNothing) }
                if addresses.count <= Self.shortRead, let probes = try? session.probes(addresses) { return probes }
                let wasSettled = isSettled
                do throws(BackendError) {
                    let probes = try await readLane.run(clock: runtime.clock, deadline: deadline, isMutation: false) {
                        (_) throws(BackendError) in
                        try session.probes(addresses, retry, isSettled: wasSettled)
                    }
                    if let probes { return probes }
                } catch {
                    guard error.code == .unsettled else { throw error }
                    try await settleLog(session, deadline)
                    isSettled = true
                }
                // Header, keys or file have changed, or the session was closed.
                known = try await opened(insteadOf: session, &deadline)
            }
        }

        /// Overwrites a transaction that a killed process left in the write-ahead log. Otherwise a value that is
        /// reported as absent could reappear.
        private func settleLog(_ session: DatabaseSession, _ deadline: MonotonicInstant) async throws(BackendError) {
            let file = file
            do throws(BackendError) {
                try await onLane(deadline) { () throws(BackendError) in
                    // Commits of this process run on this lane, so none is running now. The read may have seen the
                    // transaction of such a commit before it ended. Then no leftover transaction is in the log now, and
                    // no lock is needed.
                    if try session.hasUnnamedTransaction() { try file.settleLog(deadline: deadline) }
                }
            } catch {
                // The lock is free again soon.
                if error.code == .timedOut { throw error }
                throw BackendError(
                    .cannotTell,
                    "A program was killed while it changed the database, and what it wrote could not be removed from the log (\(error.code)): so it is unknown whether the value exists. Try again from a program that may write the database."
                )
            }
        }

        /// Lists the slots of a namespace that have a value or a tombstone. The names are encrypted, so every row must
        /// be decrypted, and the time grows with the number of rows.
        /// - Throws: ``BackendError``: `locked` and other errors of the key; `corrupted` if a row cannot be decrypted.
        ///   The name of such a row cannot be read, so the list would be incomplete. ``listing(in:)`` does not throw
        ///   this error, and reports such rows as damaged.
        package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            let listing = try await listing(in: namespace)
            if let damaged = listing.damaged.first { throw DatabaseScanner.incomplete(damaged.corruption) }
            return listing.addresses
        }

        /// Reads a page of the values that meet a query's conditions. They are found by labels (an index), so the time
        /// grows with the number of values found. The namespace `.values` has no labels, so there every row must be
        /// opened. The page lists rows that cannot be opened, and labels that lead to no value, as damaged slots.
        /// - Throws: ``BackendError``: `locked` and other errors of the key.
        package func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
            let page = try await scanning { (file, session, isWanted) throws(BackendError) in
                try file.scanner.page(
                    query, after: cursor, limit: limit, session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted)
            }
            return page ?? StoragePage([], next: nil)
        }

        /// Counts the values that meet a query's conditions. If one label answers the query, no value is opened.
        /// Otherwise the values are counted page by page.
        /// - Throws: The errors of ``page(_:after:limit:)``, and `corrupted` if the label does not match its count.
        package func count(_ query: StorageQuery) async throws(BackendError) -> Int {
            let count = try await scanning { (file, session, _) throws(BackendError) in
                try file.scanner.count(query, session, isCurrent: { file.isCurrent(session) })
            }
            switch count {
            case .counted(let count): return count
            case .needsPages: return try await countByPages(query)
            case nil: return 0
            }
        }

        /// Returns the numbers in the sealed counts of labels. They are authenticated with the database's key. If another
        /// program has removed entries of a label, ``page(_:after:limit:)`` reports that.
        /// - Throws: ``BackendError``: `locked` and other errors of the key.
        package func storedCounts(of queries: [StorageQuery]) async throws(BackendError) -> [Int?] {
            let numbers = try await scanning { (file, session, _) throws(BackendError) in
                try file.scanner.sealedNumbers(queries, session, isCurrent: { file.isCurrent(session) })
            }
            return numbers ?? queries.map { _ in 0 }
        }

        /// Runs work on the lane for lists. Repeats it with a new session as long as the session is outdated. Returns
        /// nil if there is no database.
        /// - Parameter isPatient: Whether the caller waits as long as the work makes progress.
        func scanning<R: Sendable>(
            isPatient: Bool = false,
            _ work: @escaping @Sendable (DatabaseFile, DatabaseSession, _ isWanted: () -> Bool) throws(BackendError) -> R?
        ) async throws(BackendError) -> R? {
            var deadline = nextDeadline
            let file = file
            var known = try await opened(&deadline)
            while let session = known {
                // A value that is missing from a list counts as absent. So a transaction that a killed process left in
                // the log must be overwritten first.
                if !isPatient, try session.hasUnnamedTransaction() { try await settleLog(session, deadline) }
                let result = try await scanLane.run(clock: runtime.clock, deadline: deadline, isMutation: false) {
                    (call) throws(BackendError) in
                    try file.retryingWhileBusy(deadline: call.deadline) { () throws(BackendError) in
                        try work(file, session) {
                            if isPatient { call.progressed() }
                            return !call.isOver
                        }
                    }
                }
                if let result { return result }
                known = try await opened(insteadOf: session, &deadline)
            }
            return nil
        }

        /// Returns whether the database can be opened. A missing database is ready, because the first change creates
        /// it.
        package func status() async -> BackendStatus {
            do throws(BackendError) {
                _ = try await opened(deadline: nextDeadline)
                return .ready
            } catch { return error.code == .locked ? .locked : .unavailable(error) }
        }

        // MARK: Writing

        /// Changes slots, all or none. The changes survive a power loss when this returns. The row of a removed value
        /// is overwritten in the database and in its log, unless another connection is reading an older state of the
        /// database. SQLite may have left sealed bytes of the row elsewhere when it moved rows between pages.
        ///
        /// Calls that wait at the same time share one transaction and one flush, but each remains a separate batch.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled`. Its outcome states whether the changes may have
        ///   been applied.
        package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
            try await apply(mutations, noting: nil)
        }

        /// Compares puts and checks. A deletion is not compared.
        package func applyComparing(
            _ mutations: [StorageMutation]
        ) async throws(BackendError) -> (results: [MutationResult], isStored: Bool) {
            let written = mutations.contains { $0.operation == .delete } ? nil : WrittenRows()
            let results = try await apply(mutations, noting: written)
            guard let written, results.allSatisfy(\.isApplied), let session = session(.fresh) else { return (results, false) }
            let isStored = try? await readLane.run(clock: runtime.clock, deadline: nextDeadline, isMutation: false) {
                (_) throws(BackendError) in
                try session.isStored(written.rows)
            }
            return (results, isStored == true)
        }

        /// - Parameter written: Receives the rows that the call writes; nil to note none.
        private func apply(
            _ mutations: [StorageMutation], noting written: WrittenRows?
        ) async throws(BackendError) -> [MutationResult] {
            guard !mutations.isEmpty else { return [] }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            try mutations.requireDistinctAddresses()
            if let refusal = mutations.refused(by: capabilities, in: "an encrypted database") { return refusal }
            do throws(BackendError) {
                var deadline = nextDeadline
                var known = try await opened(&deadline)
                while true {
                    guard let session = known else {
                        // Do not create a database that would stay empty.
                        if let results = mutations.resultsWithoutDatabase(.durable) { return results }
                        known = try await openedOrCreated(&deadline)
                        continue
                    }
                    let request = CommitRequest(session: session, mutations: mutations, written: written)
                    switch try await commits.submit(request, deadline: deadline, isMutation: true) {
                    case .results(let results): return results
                    case .outdated: known = try await opened(insteadOf: session, &deadline)
                    }
                }
            } catch { return try error.results(mutations.count) }
        }

        /// Flushes the log to the disk, because other programs may have committed without a flush. Calls that wait at
        /// the same time share one flush. Afterwards the freshness anchor has the last commit.
        /// - Throws: ``BackendError``, including that of an anchor that cannot be written. Acknowledged changes are
        ///   durable even then.
        package func synchronize() async throws(BackendError) -> StorageDurability {
            let deadline = nextDeadline
            try await flushes.submit((), deadline: deadline, isMutation: false)
            if let follower = file.follower {
                try await runtime.run(until: deadline) { () throws(BackendError) in try await follower.flush() }
            }
            return .durable
        }

        /// Unlocks the store that holds the key, which may open a prompt. Then opens the database if there is one,
        /// which may ask for a passphrase.
        /// - Throws: ``BackendError`` of the key's source, which names what is missing.
        package func unlock() async throws(BackendError) {
            let wasLocked = file.setLocked(false)
            do throws(BackendError) {
                try await source.unlock()
                try await file.follower?.unlock()
                _ = try await opened(deadline: nextDeadline)
            } catch {
                if wasLocked { await lock(within: .seconds(1)) }
                throw error
            }
        }

        /// Writes the log back, empties it and closes the database. The next call opens it again. The data keys are
        /// released. The key that wraps them belongs to the program and stays in its ``SealingKeys``.
        package func close() async {
            if let follower = file.follower {
                let deadline = nextDeadline
                // If the anchor cannot be written now, it stays behind until the next commit updates it.
                try? await runtime.run(until: deadline) { () throws(BackendError) in try await follower.flush() }
            }
            await letGo(within: self.deadline)
        }

        // MARK: The lane

        var nextDeadline: MonotonicInstant { runtime.deadline(after: deadline) }

        /// Runs work on the lane. The work must not change any value, so an error after a timeout does not report an
        /// unknown outcome.
        func onLane<Response: Sendable>(
            _ deadline: MonotonicInstant, _ work: @escaping @Sendable () throws(BackendError) -> Response
        ) async throws(BackendError) -> Response {
            try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) { (_) throws(BackendError) in try work() }
        }
    }
#endif
