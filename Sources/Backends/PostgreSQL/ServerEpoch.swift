#if PostgreSQL
    package import BackendContract
    package import BackendRuntime
    import Synchronization

    /// The cluster that a connection leads to.
    struct ServerCluster: Hashable, Sendable {
        /// The identifier that `initdb` gave the cluster. A copy of its files has the same one.
        let systemIdentifier: Int64
        /// The timeline, which grows when a standby is promoted.
        let timeline: Int64
        /// Whether the server flushes its files.
        let isDurable: Bool
        /// Whether a commit waits for a standby.
        let waitsForStandby: Bool
    }

    /// A transaction that a server has acknowledged. A server that does not have it has lost changes.
    struct AcknowledgedCommit: Hashable, Sendable {
        /// The key in the table `commits`.
        let key: [UInt8]
        /// The time of the server in seconds since 1970-01-01T00:00:00Z. Keys are deleted after a day.
        let time: Double
    }

    /// Detects that a server may lack acknowledged changes, because a standby was promoted or a copy was restored.
    ///
    /// A promoted standby begins a new timeline. The table `schema_version` names the timeline whose rows the program has
    /// accepted as complete. This row was copied from the earlier primary, so it names the earlier timeline until the
    /// program accepts the new one. Until then, a missing row does not prove that there is no value.
    ///
    /// Each writing connection also remembers its last acknowledged transaction. A new connection asks the server for the
    /// transactions of all connections. A server applies changes in the order of its log, so one that has the last
    /// transaction has the earlier ones too.
    /// Reason: "A failover makes absence unknown" in Docs/Decisions/Server.md.
    final class ServerEpoch: Sendable {
        private struct State {
            /// The cluster of the latest connection; nil before the first one.
            var cluster: ServerCluster?
            var accepted: Acceptance?
            /// The last acknowledged transaction of each link.
            var commits: [ObjectIdentifier: AcknowledgedCommit] = [:]

            /// Notes what the program has accepted. A new acceptance includes all losses before it.
            mutating func note(_ found: Acceptance) {
                if let accepted, accepted.time != found.time { commits = [:] }
                accepted = found
            }
        }

        /// The cluster and timeline that the program has accepted, as `schema_version` has them.
        private struct Acceptance: Hashable {
            var system: Int64
            /// The accepted timeline; 0 for none.
            var timeline: Int64
            /// The time of the acceptance, in the server's unit. It is only compared for equality.
            let time: Int64

            /// Reads the result of ``ServerTables/readAcceptance``.
            init(_ rows: ServerRows?) throws(ServerFault) {
                guard let row = rows?.rows.first else { throw ServerFault("42P01", "The table schema_version is empty.") }
                (system, timeline, time) = (row.integer(0), row.integer(1), row.integer(2))
            }
        }

        private let state = Mutex(State())
        /// The timeline of the latest connection.
        private let latest = Atomic<Int64>(0)

        /// Whether the server flushes its files; nil before the first connection.
        var isDurable: Bool? { state.withLock { $0.cluster?.isDurable } }

        /// Whether a commit waits for a standby.
        var waitsForStandby: Bool { state.withLock { $0.cluster?.waitsForStandby } ?? false }

        /// Whether another connection leads to a later timeline, so that the server of this connection is no primary any more.
        func isOutdated(_ timeline: Int64) -> Bool { timeline < latest.load(ordering: .acquiring) }

        // MARK: New connections

        /// Throws if a server belongs to another cluster than the earlier connections, or to an earlier timeline.
        func requireSuccessor(_ found: ServerCluster) throws(ServerFault) {
            guard let former = state.withLock({ $0.cluster }),
                former.systemIdentifier != found.systemIdentifier || found.timeline < former.timeline
            else { return }
            throw ServerFault(
                "08L04",
                "The connection leads to cluster \(UInt64(bitPattern: found.systemIdentifier)), timeline \(found.timeline), instead of cluster \(UInt64(bitPattern: former.systemIdentifier)), timeline \(former.timeline).",
                isConnectionLost: true)
        }

        /// Throws if a server belongs to another cluster than the earlier connections. A standby may have any timeline.
        func requireSystem(_ identifier: Int64) throws(ServerFault) {
            guard let former = state.withLock({ $0.cluster }) else { return }
            try requireSuccessor(
                ServerCluster(systemIdentifier: identifier, timeline: former.timeline, isDurable: true, waitsForStandby: false))
        }

        /// Notes the server of a new connection. Its tables exist.
        /// - Throws: ``ServerFault`` with `LD002` if the server lacks a transaction that was acknowledged to this process,
        ///   unless the loss was accepted since.
        func check(
            _ found: ServerCluster, _ connection: ServerConnection, _ tables: ServerTables, until deadline: MonotonicInstant
        ) throws(ServerFault) {
            while true {
                let known = state.withLock(\.self)
                let questions = known.commits.values.map { tables.isKept($0) }
                let answers = try connection.run([tables.readAcceptance] + questions, until: deadline)
                var acceptance = try Acceptance(answers.first)
                let isComplete = answers.dropFirst().allSatisfy { $0.rows.first?.isTrue(0) == true }
                guard isComplete || acceptance.time != known.accepted?.time else {
                    throw ServerFault("LD002", "The server lacks changes that were acknowledged to this process.")
                }
                if acceptance.system != found.systemIdentifier {
                    // The tables were restored in another cluster. Every program must learn that they may be older.
                    _ = try connection.run([tables.noteCopy(from: acceptance.system, to: found.systemIdentifier)], until: deadline)
                    (acceptance.system, acceptance.timeline) = (found.systemIdentifier, 0)
                }
                let result = acceptance
                let isNoted = try state.withLock { state throws(ServerFault) in
                    let former = state.cluster?.timeline ?? 0
                    guard former <= found.timeline else { throw ServerFault.lost(Self.moved) }
                    // The earlier server has acknowledged another transaction since the question.
                    if former < found.timeline, state.commits != known.commits { return false }
                    state.cluster = found
                    state.note(result)
                    latest.store(found.timeline, ordering: .releasing)
                    return true
                }
                if isNoted { return }
            }
        }

        // MARK: Answers

        /// The message for a connection whose server is not the primary of the process any more.
        static let moved = "The connection leads to another server than before."

        /// Returns the reason why a missing row on a server proves nothing; nil if it proves that there is no value. Asks
        /// the server only while its timeline is not accepted.
        func doubt(
            on timeline: Int64, _ connection: ServerConnection, _ tables: ServerTables, until deadline: MonotonicInstant
        ) throws(ServerFault) -> ServerFault? {
            if state.withLock({ $0.accepted?.timeline }) == timeline { return nil }
            let found = try Acceptance(try connection.run([tables.readAcceptance], until: deadline).first)
            state.withLock { $0.note(found) }
            guard found.timeline != timeline else { return nil }
            let accepted = found.timeline == 0 ? "no timeline of this cluster" : "timeline \(found.timeline)"
            return ServerFault("LD001", "The server is on timeline \(timeline), and the program has accepted \(accepted).")
        }

        /// Notes the last acknowledged transaction of a link.
        /// - Returns: False if another connection leads to a later timeline: the server that has acknowledged the
        ///   transaction may be separated from its successor.
        func acknowledge(_ commit: AcknowledgedCommit, of link: ObjectIdentifier, on timeline: Int64) -> Bool {
            state.withLock { state in
                guard let cluster = state.cluster, cluster.timeline <= timeline else { return false }
                if cluster.isDurable { state.commits[link] = commit }
                return true
            }
        }
    }

    extension [[UInt8]?] {
        /// Returns the timeline from a column with the expression ``ServerTables/segment``; 0 if there is none.
        func timeline(_ column: Int) -> Int64 { Int64(text(column).prefix(8), radix: 16) ?? 0 }
    }

    extension ServerTables {
        /// The name of the current segment of the server's log. Its first 8 digits are the timeline. A standby reports 55000.
        ///
        /// `pg_control_checkpoint()` has the earlier timeline until the first checkpoint after a promotion, for minutes.
        static let segment = "pg_walfile_name(pg_current_wal_lsn())"

        /// The timeline of the server, of the type `bigint`.
        static let timeline = "('x' || left(\(segment), 8))::bit(32)::bigint"

        /// Reads the timeline in the transaction of other statements.
        static let readSegment = ServerStatement("SELECT \(segment)")

        /// Reads the cluster and the timeline that the program has accepted.
        fileprivate var readAcceptance: ServerStatement {
            ServerStatement("SELECT system, timeline, accepted FROM \(schema).schema_version")
        }

        /// Asks whether the server has an acknowledged transaction. True also if its key may have been deleted.
        fileprivate func isKept(_ commit: AcknowledgedCommit) -> ServerStatement {
            ServerStatement(
                """
                SELECT to_timestamp($2) < now() - interval '12 hours' \
                OR EXISTS (SELECT 1 FROM \(schema).commits WHERE key = $1 AND NOT abandoned)
                """, [.uuid(commit.key), .float8(commit.time)])
        }

        /// Notes that the tables were restored in another cluster, of which no timeline is accepted.
        fileprivate func noteCopy(from former: Int64, to system: Int64) -> ServerStatement {
            ServerStatement(
                "UPDATE \(schema).schema_version SET system = $2, timeline = 0 WHERE system = $1", [.int8(former), .int8(system)])
        }

        /// Accepts the rows of the present timeline as complete.
        var accept: ServerStatement {
            ServerStatement(
                """
                UPDATE \(schema).schema_version SET system = (pg_control_system()).system_identifier, timeline = \(Self.timeline), \
                accepted = clock_timestamp()
                """)
        }
    }

    extension PostgreSQLSchema {
        /// Accepts the present rows of a schema as complete, although the server may lack acknowledged changes. Durable when
        /// this returns.
        package static func acceptFailover(
            conninfo: String, schema: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) {
            let facts = ServerFacts(conninfo: conninfo, tables: ServerTables(schema: schema), runtime: runtime)
            let (link, until) = (ServerLink("postgresql.acceptance", facts), runtime.deadline(after: deadline))
            let begin = ServerTables.begin(milliseconds: deadline.wholeNanoseconds / 1_000_000)
            let statements = begin + [facts.tables.accept, ServerTables.commit]
            try await link.lane.run(clock: runtime.clock, deadline: until, isMutation: true) { (_) throws(BackendError) in
                defer { link.close() }
                do throws(ServerFault) {
                    // A repetition has the same effect.
                    try link.read(until: until) { (connection) throws(ServerFault) in
                        let done = try connection.run(statements, until: until)
                        guard done[begin.count].changed == 1 else { throw .drop(of: "schema_version") }
                    }
                } catch { throw error.backendError(outcome: error.isConnectionLost ? .unknown : .notApplied) }
            }
        }
    }
#endif
