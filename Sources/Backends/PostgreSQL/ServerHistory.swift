#if PostgreSQL
    package import BackendContract
    package import BackendRuntime

    /// The table `history`: an entry for each branch of the rows, and for each acceptance. See ``ServerEpoch``.
    extension ServerTables {
        /// The name of the current segment of the server's log, and the time at which the server was started.
        /// ``ServerInstance`` reads it. A standby reports 55000.
        static let instance = "\(segment)::bytea || timestamptz_send(pg_postmaster_start_time())"

        /// The name of the current segment. Its first 8 digits are the timeline.
        ///
        /// `pg_control_checkpoint()` has the earlier timeline until the first checkpoint after a promotion, for minutes.
        private static let segment = "pg_walfile_name(pg_current_wal_lsn())"

        /// The timeline of the server, of the type `bigint`.
        static let timeline = "('x' || left(\(segment), 8))::bit(32)::bigint"

        /// Reads the server's instance in the transaction of other statements.
        static let readInstance = ServerStatement("SELECT \(instance)")

        /// The statements that create the table, with an entry for the first rows.
        /// - Parameter isUpgrade: Whether the tables of an earlier version may exist.
        func historyCreation(isUpgrade: Bool) -> [String] {
            let table = "CREATE TABLE \(isUpgrade ? "IF NOT EXISTS " : "")\(schema).history"
            return [
                """
                \(table) (
                    number bigint PRIMARY KEY, id uuid NOT NULL DEFAULT gen_random_uuid(), parent uuid,
                    accepted boolean NOT NULL DEFAULT false, covers boolean NOT NULL DEFAULT false,
                    system bigint NOT NULL DEFAULT (pg_control_system()).system_identifier,
                    timeline bigint NOT NULL DEFAULT \(Self.timeline),
                    position pg_lsn NOT NULL DEFAULT coalesce(pg_last_wal_replay_lsn(), pg_current_wal_lsn()),
                    known timestamptz, at timestamptz NOT NULL DEFAULT now(),
                    stamp xid8 NOT NULL DEFAULT pg_current_xact_id())
                """,
                isUpgrade
                    ? """
                    INSERT INTO \(schema).history (number, accepted, system, timeline, at)
                        SELECT 1, true, system, timeline, accepted FROM \(schema).schema_version
                        WHERE NOT EXISTS (SELECT 1 FROM \(schema).history)
                    """ : "INSERT INTO \(schema).history (number, accepted) VALUES (1, true)",
            ]
        }

        /// Whether an entry `h` was made on the cluster and the timeline of the server, and by the transaction that inserted its
        /// row. The rows of a restored dump were inserted by another one.
        private static let fits =
            "h.system = (pg_control_system()).system_identifier AND h.timeline = \(timeline) AND h.xmin = h.stamp::xid"

        /// Reads the latest entry, the position up to which the server has flushed its log, and whether the entry fits.
        var readHead: ServerStatement {
            ServerStatement(
                "SELECT h.id, h.accepted, pg_current_wal_flush_lsn(), \(Self.fits) FROM \(schema).history h ORDER BY h.number DESC LIMIT 1")
        }

        /// Adds an entry if the latest one does not fit. Of two processes that do so at once, one adds it. The entry has the
        /// time of the last transaction that the rows contain.
        /// - Parameter isBehind: Whether the caller knows that the log of the server is shorter than it was.
        func noteBranch(isBehind: Bool) -> ServerStatement {
            ServerStatement(
                """
                INSERT INTO \(schema).history (number, parent, known) SELECT h.number + 1, h.id, \(lastCommit) FROM \(schema).history h \
                WHERE h.number = (SELECT max(number) FROM \(schema).history)\(isBehind ? "" : " AND NOT (\(Self.fits))") \
                ON CONFLICT (number) DO NOTHING
                """)
        }

        /// The time of the last transaction in `commits`. The search begins with the last minute, because the index of the table
        /// finds recent rows only.
        private var lastCommit: String {
            let ages = ["1 minute", "10 minutes", "1 hour", "12 hours"]
            let recent = ages.map { "(SELECT max(at) FROM \(schema).commits WHERE at > now() - interval '\($0)')" }
            return "coalesce(\(recent.joined(separator: ", ")), (SELECT max(at) FROM \(schema).commits))"
        }

        /// Asks whether nothing is lost of an acknowledged transaction and those before it, and whether it is lost and only an
        /// acceptance covers that. The last column leaves out the third of these proofs:
        ///
        /// * its key is there;
        /// * a person has accepted the rows after the transaction, and in a successor of an entry;
        /// * its key may have been deleted, and every branch since that entry has a later transaction.
        /// - Parameter head: The entry that the process has found last.
        func isKept(_ commit: AcknowledgedCommit, since head: [UInt8]) -> ServerStatement {
            let isThere = "EXISTS (SELECT 1 FROM \(schema).commits WHERE key = $1 AND NOT abandoned)"
            let isCovered = "EXISTS (SELECT 1 FROM \(schema).history a WHERE a.covers AND a.number > h.number AND a.at > to_timestamp($2))"
            return ServerStatement(
                """
                SELECT \(isThere) OR \(isCovered) \
                OR h.number IS NOT NULL AND to_timestamp($2) < now() - interval '12 hours' AND NOT EXISTS ( \
                SELECT 1 FROM \(schema).history b WHERE NOT b.accepted AND b.number > h.number \
                AND coalesce(b.known, '-infinity') < to_timestamp($2) - interval '1 millisecond'), \
                NOT \(isThere) AND \(isCovered), \(isThere) OR \(isCovered) FROM (VALUES (1)) one LEFT JOIN \(schema).history h ON h.id = $3
                """, [.uuid(commit.key), .float8(commit.time), .uuid(head)])
        }

        /// Asks whether a person has accepted the rows in a successor of an entry.
        /// - Parameter head: The entry that the process has found last.
        func isCovered(since head: [UInt8]) -> ServerStatement {
            ServerStatement(
                """
                SELECT EXISTS (SELECT 1 FROM \(schema).history a JOIN \(schema).history h ON a.number > h.number \
                WHERE h.id = $1 AND a.covers)
                """, [.uuid(head)])
        }

        /// Accepts the present rows as complete, and what is lost of earlier ones. Removes the entries before the last thousand.
        var accept: [ServerStatement] {
            [
                ServerStatement(
                    """
                    INSERT INTO \(schema).history (number, parent, accepted, covers) \
                    SELECT number + 1, id, true, true FROM \(schema).history ORDER BY number DESC LIMIT 1
                    """),
                ServerStatement(
                    "DELETE FROM \(schema).history WHERE number < (SELECT max(number) FROM \(schema).history) - 1000"),
            ]
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
            let statements = begin + [facts.tables.lockHistory] + facts.tables.accept + [ServerTables.commit]
            try await link.lane.run(clock: runtime.clock, deadline: until, isMutation: true) { (_) throws(BackendError) in
                defer { link.close() }
                do throws(ServerFault) {
                    // A repetition adds another entry, which has the same effect.
                    try link.read(until: until) { (connection) throws(ServerFault) in
                        let done = try connection.run(statements, until: until)
                        guard done[begin.count + 1].changed == 1 else { throw .drop(of: "history") }
                    }
                } catch { throw error.backendError(outcome: error.isConnectionLost ? .unknown : .notApplied) }
            }
        }
    }

    extension ServerTables {
        /// Lets one transaction at a time accept the rows.
        fileprivate var lockHistory: ServerStatement { ServerStatement("SELECT 1 FROM \(schema).schema_version FOR UPDATE") }
    }
#endif
