#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import Synchronization

    /// A running server, as a connection finds it.
    struct ServerCluster: Hashable, Sendable {
        /// The identifier that `initdb` gave the cluster. A copy of its files has the same one.
        let systemIdentifier: Int64
        /// The time at which the server was started, and the timeline of its log.
        let instance: ServerInstance
        /// Whether the server flushes its files.
        let isDurable: Bool
        /// Whether a commit waits for a standby.
        let waitsForStandby: Bool

        var timeline: Int64 { instance.timeline }
    }

    /// The part of an answer that identifies its server. Behind a pooler, each answer can come from another server.
    ///
    /// Two standbys that are promoted begin timelines of the same number, but are not started at the same microsecond.
    struct ServerInstance: Hashable, Sendable {
        /// The timeline, which grows when a standby is promoted.
        let timeline: Int64
        /// The time at which the server was started, in PostgreSQL's binary format.
        let start: [UInt8]

        /// Reads a column with the expression ``ServerTables/instance``: the name of the current segment of the log, whose
        /// first 8 digits are the timeline, and the time of the start.
        init(_ column: [UInt8]?) {
            let bytes = column ?? []
            timeline = Int64(String(decoding: bytes.prefix(8), as: UTF8.self), radix: 16) ?? 0
            start = Array(bytes.suffix(8))
        }
    }

    /// A transaction that a server has acknowledged. A server that does not have it has lost changes.
    struct AcknowledgedCommit: Hashable, Sendable {
        /// The key in the table `commits`.
        let key: [UInt8]
        /// The time of the server in seconds since 1970-01-01T00:00:00Z. Keys are deleted after a day.
        let time: Double
        /// A position in the log of the server that is not after the commit.
        let position: Int64
    }

    /// Detects that a server may lack acknowledged changes, because a standby was promoted or a copy was restored.
    ///
    /// The table `history` has an entry for each *branch*: a promotion, a snapshot of the disk, or a dump that was restored.
    /// An entry has a random id and names its predecessor, and it is replicated with the rows. So the entries on a server are
    /// the ancestors of its rows. The first process that finds that the server does not fit the latest entry adds one. A
    /// person adds an entry that *accepts* the rows. Until then, a missing row does not prove that there is no value.
    ///
    /// Each writing connection also remembers its last acknowledged transaction. A new connection asks the server for the
    /// transactions of all connections. A server applies changes in the order of its log, so one that has the last
    /// transaction has the earlier ones too. An acceptance covers a missing transaction only if it is a successor of the
    /// entry that the process has found last, and later than the transaction.
    /// Reason: "A failover makes absence unknown" in Docs/Decisions/Server.md.
    final class ServerEpoch: Sendable {
        private struct State {
            /// The server of the latest connection; nil before the first one.
            var cluster: ServerCluster?
            /// The latest entry of the history that a check has found. If the check has failed, its error was reported to a caller.
            var head: HistoryHead?
            /// The last acknowledged transaction of each link.
            var commits: [ObjectIdentifier: AcknowledgedCommit] = [:]
            /// The keys of transactions that a server lacked. Their age proves nothing any more.
            var missing: Set<[UInt8]> = []
            /// The number of the check that a connection needs.
            var generation: Int64 = 0

            /// The position of the last acknowledged transaction since an entry of the history was found. Positions on another
            /// branch say nothing about this one.
            var acknowledged: (head: [UInt8], position: Int64)?

            /// The position that the log of the server had reached.
            var position: Int64 {
                guard let head else { return 0 }
                return max(head.position, acknowledged?.head == head.id ? acknowledged?.position ?? 0 : 0)
            }
        }

        /// The latest entry of the table `history`.
        private struct HistoryHead: Hashable, Sendable {
            let id: [UInt8]
            /// Whether a person has accepted the rows.
            let isAccepted: Bool
            /// Whether the server is the one on which the entry was made, or a server that continues its timeline.
            let fits: Bool
            /// The position in the log up to which the server had flushed it, when it was asked.
            let position: Int64

            /// Reads the result of ``ServerTables/readHead``.
            init(_ rows: ServerRows?) throws(ServerFault) {
                guard let row = rows?.rows.first else { throw ServerFault("42P01", "The table history is empty.") }
                (id, isAccepted, position, fits) = (row.bytes(0), row.isTrue(1), row.integer(2), row.isTrue(3))
            }
        }

        private let state = Mutex(State())
        /// The number of the check that a connection needs. It grows with each other server, and with each sign of a restore.
        private let latest = Atomic<Int64>(0)

        /// Whether the server flushes its files; nil before the first connection.
        var isDurable: Bool? { state.withLock { $0.cluster?.isDurable } }

        /// Whether a commit waits for a standby.
        var waitsForStandby: Bool { state.withLock { $0.cluster?.waitsForStandby } ?? false }

        /// Whether a connection has not passed the latest check. Another connection leads to another server, or the rows may
        /// have been restored.
        func isOutdated(_ generation: Int64) -> Bool { generation != latest.load(ordering: .acquiring) }

        /// Requires a new check of every connection, because the header of a database is another one or was written again.
        func suspect() {
            state.withLock { state in
                state.generation += 1
                latest.store(state.generation, ordering: .releasing)
            }
        }

        // MARK: New connections

        /// Throws if a server belongs to another cluster than the earlier connections.
        func requireSystem(_ identifier: Int64) throws(ServerFault) {
            guard let former = state.withLock({ $0.cluster }), former.systemIdentifier != identifier else { return }
            throw Self.stranger(identifier, former.timeline, former)
        }

        private static func stranger(_ system: Int64, _ timeline: Int64, _ former: ServerCluster) -> ServerFault {
            ServerFault(
                "08L04",
                "The connection leads to cluster \(UInt64(bitPattern: system)), timeline \(timeline), instead of cluster \(UInt64(bitPattern: former.systemIdentifier)), timeline \(former.timeline).",
                isConnectionLost: true)
        }

        /// Checks the server of a new connection, and notes it. Its tables exist.
        /// - Parameter isReported: Whether a caller gets the error. An acceptance covers a loss only if it is later than the
        ///   entry that the process has found before, or that a caller received an error about.
        /// - Returns: The generation that the connection has passed.
        /// - Throws: ``ServerFault`` with `LD002` if the server lacks a transaction that was acknowledged to this process,
        ///   unless the loss was accepted since; with `08L04` for a server with an earlier timeline, unless its rows were
        ///   accepted after this process had found it.
        func check(
            _ found: ServerCluster, _ connection: ServerConnection, _ tables: ServerTables, isReported: Bool,
            until deadline: MonotonicInstant
        ) throws(ServerFault) -> Int64 {
            while true {
                let known = state.withLock(\.self)
                let since = known.head?.id ?? [UInt8](repeating: 0, count: 16)
                let commits = Array(known.commits)
                let questions =
                    [tables.readHead, tables.isCovered(since: since)] + commits.map { tables.isKept($0.value, since: since) }
                var answers = try connection.run(questions, until: deadline)
                var head = try HistoryHead(answers.first)
                // If the log is shorter than it was, a copy of the files was put back.
                let isBehind = known.head?.id == head.id && head.position < known.position
                if !head.fits || isBehind {
                    answers = Array(try connection.run([tables.noteBranch(isBehind: isBehind)] + questions, until: deadline).dropFirst())
                    head = try HistoryHead(answers.first)
                }
                let isCovered = answers[1].rows.first?.isTrue(0) == true
                let absent = zip(commits, answers.dropFirst(2)).filter { commit, answer in
                    answer.rows.first?.isTrue(known.missing.contains(commit.value.key) ? 2 : 0) != true
                }.map(\.0.value.key)
                let (isComplete, result) = (absent.isEmpty, head)
                let lost = zip(commits, answers.dropFirst(2)).filter { $1.rows.first?.isTrue(1) == true }.map(\.0)
                let generation = try state.withLock { state throws(ServerFault) -> Int64? in
                    // Another connection has made a check, or the earlier server has acknowledged a transaction.
                    let isOther = state.cluster?.instance != found.instance
                    if state.generation != known.generation || isOther && state.commits != known.commits { return nil }
                    // An acceptance after a reported loss covers it.
                    if isComplete || isReported { state.head = result }
                    guard isComplete else {
                        state.missing.formUnion(absent)
                        return -1
                    }
                    if let former = state.cluster, found.timeline < former.timeline, !isCovered {
                        throw Self.stranger(found.systemIdentifier, found.timeline, former)
                    }
                    // Their loss was accepted. The next check asks for acceptances after this one.
                    for (link, commit) in lost where state.commits[link] == commit { state.commits[link] = nil }
                    state.missing = []
                    if isOther { state.generation += 1 }
                    state.cluster = found
                    latest.store(state.generation, ordering: .releasing)
                    return state.generation
                }
                if generation == -1 { throw ServerFault("LD002", "The server lacks changes that were acknowledged to this process.") }
                if let generation { return generation }
            }
        }

        // MARK: Answers

        /// The message for a connection whose server is not the primary of the process any more.
        static let moved = "The connection leads to another server than before."

        /// Returns the reason why a missing row on a server proves nothing; nil if it proves that there is no value. Asks
        /// the server only while its rows are not accepted.
        func doubt(
            on instance: ServerInstance, _ connection: ServerConnection, _ tables: ServerTables, until deadline: MonotonicInstant
        ) throws(ServerFault) -> ServerFault? {
            if state.withLock({ $0.head?.isAccepted == true && $0.cluster?.instance == instance }) { return nil }
            let head = try HistoryHead(try connection.run([tables.readHead], until: deadline).first)
            guard !head.isAccepted else {
                state.withLock { $0.head = head }
                return nil
            }
            return ServerFault("LD001", "The server is on timeline \(instance.timeline), and its rows were not accepted.")
        }

        /// Notes the last acknowledged transaction of a link.
        /// - Returns: False if another connection has found another server: the server that has acknowledged the transaction
        ///   may be separated from its successor.
        func acknowledge(_ commit: AcknowledgedCommit, of link: ObjectIdentifier, in generation: Int64) -> Bool {
            state.withLock { state in
                guard state.generation == generation, let cluster = state.cluster else { return false }
                if cluster.isDurable { state.commits[link] = commit }
                if let head = state.head { state.acknowledged = (head.id, max(state.position, commit.position)) }
                return true
            }
        }
    }
#endif
