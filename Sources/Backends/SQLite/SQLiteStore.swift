#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    /// Sealed rows in a plain SQLite database: names, values and metadata cannot be read from the file, and changes to a row are detected.
    ///
    /// A name is found by a keyed hash of it; everything else of a row is sealed with XAES-256-GCM and bound to its place. The data key
    /// lies in the database, wrapped with a key from a ``KeySource``. `Docs/Design.md` has the format, `Docs/ThreatModel.md` says what is
    /// hidden, what leaks and what is not detected.
    ///
    /// A read of one slot is one short statement on the caller's thread and waits for no writer, of this process or another. Changes that
    /// wait together share one transaction and one flush; a change is on the disk when it is acknowledged. The first change creates the
    /// database; a read never does.
    package final class SQLiteStore: LockableBackend, ObservableBackend, ImmediateBackend {
        /// The file, with every symbolic link resolved when the store was created.
        package let identity: BackendIdentity

        /// What the store promises: durable atomic batches, preconditions between processes, and the protection of its key source.
        package let capabilities: BackendCapabilities

        /// The largest value, in bytes, metadata included.
        package static let maximumValueSize = 16 << 20

        let file: DatabaseFile
        let keys: SealingKeys
        let source: any KeySource
        /// The sources whose keys may open the database: that of new databases first.
        let sources: [any KeySource]
        /// Where the database belongs.
        let context: StoreContext
        let otherSealedIDs: @Sendable () async throws(BackendError) -> Set<[UInt8]>
        let runtime: Runtime
        /// Writes, and does everything else that may wait for the disk.
        let lane: any Lane
        /// Reads many slots, so that no read waits for a flush.
        private let readLane: any Lane
        /// Lists rows, so that a long list delays nothing else.
        private let scanLane: any Lane
        private let deadline: Duration
        private let commits: GroupCommit<CommitRequest, CommitResponse>
        private let flushes: GroupCommit<Void, Void>

        /// Creates a store. Nothing is opened and nothing is created; that happens when it is first used.
        /// - Parameters:
        ///   - path: The database, an absolute path.
        ///   - lockPath: The file whose lock is held around commits and checkpoints: the same for all programs that write this database
        ///     (see ``lockPath(forDatabaseAt:in:files:)``). It is created when first needed, and never removed.
        ///   - keys: The keys of the program's sources, and the rule when a new one may be made.
        ///   - context: Where the database belongs. A file that belongs elsewhere is not opened.
        ///   - source: Where the key is kept that wraps the data key of a new database.
        ///   - otherSources: Further sources whose keys may open the database.
        ///   - otherSealedIDs: The ids of keys that are known to have sealed something elsewhere; asked before a first key is made.
        ///   - anchor: Where the latest state is recorded; nil for nowhere.
        ///   - deadline: How long a call may wait, and how long its work may show no progress.
        ///   - runtime: The machine.
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
            self.lane = lane
            self.file = file
            self.keys = keys
            self.source = source
            sources = [source] + otherSources
            self.context = context
            self.otherSealedIDs = otherSealedIDs
            self.deadline = deadline
            self.runtime = runtime
            readLane = runtime.makeLane("sqlite.\(name).read")
            scanLane = runtime.makeLane("sqlite.\(name).scan")
            commits = GroupCommit(
                lane: lane, clock: runtime.clock, maximumGroup: 1_024, maximumWeight: 4_096, weight: \.mutations.count,
                hold: file.lockedForCommits, perform: file.commit)
            flushes = GroupCommit(lane: lane, clock: runtime.clock, hold: file.lockedIfItExists) { requests, deadline, _ in
                let result = Result { () throws(BackendError) in try file.flush(deadline: deadline) }
                return requests.map { result }
            }
        }

        // MARK: Reading

        /// Reads slots from the database. Freshness makes one difference: a fresh read always checks that the file is still the one at the
        /// path, other reads check it ten times a second.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled`; every other error is in the probes.
        package func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            do throws(BackendError) {
                if addresses.count <= Self.shortRead, let session = session(freshness), let probes = try session.probes(addresses) {
                    return probes
                }
                return try await readThoroughly(addresses, deadline: nextDeadline)
            } catch {
                switch error.code {
                case .timedOut, .cancelled: throw error
                case .locked: return addresses.map { _ in .locked }
                default: return addresses.map { _ in .unavailable(error) }
                }
            }
        }

        /// What a slot holds, by one statement on the caller's thread; nil where that would have to wait, and for what is not a plain answer.
        package func immediateProbe(of address: StorageAddress) -> StorageProbe? {
            guard let session = session(.validated) else { return nil }
            return try? session.probe(address)
        }

        /// The session that is open, if the file is the one that it was opened with.
        private func session(_ freshness: ReadFreshness) -> DatabaseSession? {
            guard let session = file.session, file.isCurrent(session, freshness), file.follower?.refusal == nil else { return nil }
            return session
        }

        /// How many slots are read on the caller's own thread.
        private static let shortRead = 16

        private func readThoroughly(
            _ addresses: [StorageAddress], deadline: MonotonicInstant
        ) async throws(BackendError) -> [StorageProbe] {
            var deadline = deadline
            var known = try await opened(&deadline)
            let retry = DatabaseSession.Retry.until(deadline, runtime.clock)
            var isSettled = false
            // Repeated, until the deadline, while the database or its keys are closed or replaced.
            while true {
                guard let session = known else { return addresses.map(\.probeOfNothing) }
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

        /// Makes sure that nothing comes back of which an answer says that it is absent.
        private func settleLog(_ session: DatabaseSession, _ deadline: MonotonicInstant) async throws(BackendError) {
            let file = file
            do throws(BackendError) {
                try await onLane(deadline) { () throws(BackendError) in
                    // A commit of this process, which the lane has finished by now, needs no lock.
                    if try session.hasUnnamedTransaction() { try file.settleLog(deadline: deadline) }
                }
            } catch {
                throw BackendError(
                    .cannotTell,
                    "A program was killed while it changed the database, and what it wrote could not be removed from the log (\(error.code)): whether there is a value cannot be told. Try again from a program that may write the database."
                )
            }
        }

        /// The slots that hold something. Each row has to be opened to learn its name, so the time grows with the number of rows.
        /// - Throws: ``BackendError``: `corrupted` when a row cannot be opened, since its name is not known (see ``listing(in:)``); `locked`
        ///   and others for the key.
        package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            let listing = try await listing(in: namespace)
            if let damaged = listing.damaged.first { throw DatabaseScanner.incomplete(damaged.corruption) }
            return listing.addresses
        }

        /// A page of the values that meet a query's conditions. Outside the namespace of values they are found by labels, so the time grows
        /// with the number of values found; in it, every row has to be opened.
        /// A row that cannot be opened, and a label that leads to no value that has it, are damaged slots of the page.
        /// - Throws: ``BackendError``: `locked` and others for the key.
        package func page(_ query: StorageQuery, after cursor: StorageCursor?, limit: Int) async throws(BackendError) -> StoragePage {
            let page = try await scanning { (file, session, isWanted) throws(BackendError) in
                try file.scanner.page(
                    query, after: cursor, limit: limit, session, isCurrent: { file.isCurrent(session) }, isWanted: isWanted)
            }
            return page ?? StoragePage([], next: nil)
        }

        /// How many values meet a query's conditions: without opening them where one label answers the query, else page by page.
        /// - Throws: As ``page(_:after:limit:)``.
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

        /// Works on the lane for lists, until the database is as the session knows it; nil where there is no database.
        /// - Parameter isPatient: Whether the caller stays for as long as the work goes on.
        func scanning<R: Sendable>(
            isPatient: Bool = false,
            _ work: @escaping @Sendable (DatabaseFile, DatabaseSession, _ isWanted: () -> Bool) throws(BackendError) -> R?
        ) async throws(BackendError) -> R? {
            var deadline = nextDeadline
            let file = file
            var known = try await opened(&deadline)
            while let session = known {
                // A value that a list leaves out counts as absent.
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

        /// Whether the database can be opened, or does not exist yet: then the first change creates it.
        package func status() async -> BackendStatus {
            do throws(BackendError) {
                _ = try await opened(deadline: nextDeadline)
                return .ready
            } catch {
                return error.code == .locked ? .locked : .unavailable(error)
            }
        }

        // MARK: Writing

        /// Changes slots, all together or not at all. What is applied survives a power cut when this returns. The row of what was removed is
        /// overwritten in the database and in its log, unless another connection is reading an older state of it; SQLite may have left sealed bytes
        /// of it elsewhere when it moved rows between pages.
        ///
        /// Calls that wait at the same time share one transaction and one flush; each stays a batch of its own.
        /// - Throws: ``BackendError`` with `timedOut` or `cancelled`; its outcome says whether anything may have happened.
        package func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
            guard !mutations.isEmpty else { return [] }
            if Task.isCancelled { throw BackendError(.cancelled, "The caller was cancelled. Nothing was changed.") }
            try mutations.requireDistinctAddresses()
            if let refusal = refusal(of: mutations) { return refusal }
            do throws(BackendError) {
                var deadline = nextDeadline
                var known = try await opened(&deadline)
                while true {
                    guard let session = known else {
                        // Nothing is created only to be left empty.
                        if let results = Self.resultsOnNothing(mutations) { return results }
                        known = try await openedOrCreated(&deadline)
                        continue
                    }
                    let request = CommitRequest(session: session, mutations: mutations)
                    switch try await commits.submit(request, deadline: deadline, isMutation: true) {
                    case .results(let results): return results
                    case .outdated: known = try await opened(insteadOf: session, &deadline)
                    }
                }
            } catch {
                switch error.code {
                case .timedOut, .cancelled: throw error
                case .locked: return mutations.map { _ in .locked }
                default: return mutations.map { _ in .failed(error) }
                }
            }
        }

        /// The errors of a call that do not depend on what the store holds; found before anything is locked.
        private func refusal(of mutations: [StorageMutation]) -> [MutationResult]? {
            mutations.refused { mutation in
                do throws(BackendError) {
                    try mutation.address.validate()
                    try capabilities.requireFit(mutation.byteCount, in: "an encrypted database")
                    if case .put(.native, _) = mutation.operation {
                        throw BackendError(.unsupported, "The database keeps bytes only. Nothing was changed.")
                    }
                    return nil
                } catch {
                    return .failed(error)
                }
            }
        }

        /// The results of a call where there is no database; nil when one has to be created for it.
        private static func resultsOnNothing(_ mutations: [StorageMutation]) -> [MutationResult]? {
            if let refused = mutations.refused(StorageProbe.absent.refusal) { return refused }
            return mutations.allSatisfy { $0.operation == .delete || $0.operation == .check }
                ? mutations.map { _ in .applied(nil, .durable) } : nil
        }

        /// Flushes the log to the disk, for commits that other programs may have made with less care. Calls that wait at the same time share
        /// one flush. The freshness anchor then has the last commit.
        /// - Throws: ``BackendError``: also that of an anchor that cannot be written; what was acknowledged is durable all the same.
        package func synchronize() async throws(BackendError) -> StorageDurability {
            let deadline = nextDeadline
            try await flushes.submit((), deadline: deadline, isMutation: false)
            if let follower = file.follower {
                try await runtime.run(until: deadline) { () throws(BackendError) in try await follower.flush() }
            }
            return .durable
        }

        /// Unlocks the place where the key is kept, which may open a prompt, and opens the database if there is one; then a passphrase may
        /// be asked for.
        /// - Throws: ``BackendError``, as the key's source does, with what is missing.
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

        /// Writes the log back, empties it and closes the database; the next call opens it again. The data keys are released; the key that
        /// wraps them is the program's, and stays in its ``SealingKeys``.
        package func close() async {
            if let follower = file.follower {
                let deadline = nextDeadline
                // An anchor that cannot be written now is behind, and follows with the next commit.
                try? await runtime.run(until: deadline) { () throws(BackendError) in try await follower.flush() }
            }
            await letGo(within: self.deadline)
        }

        // MARK: The lane

        var nextDeadline: MonotonicInstant { runtime.deadline(after: deadline) }

        /// Runs work on the lane that changes no value.
        func onLane<Response: Sendable>(
            _ deadline: MonotonicInstant, _ work: @escaping @Sendable () throws(BackendError) -> Response
        ) async throws(BackendError) -> Response {
            try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) { (_) throws(BackendError) in try work() }
        }
    }
#endif
