#if PostgreSQL
    import BackendContract

    /// The tables of a schema, and the statements that use them. Every name is qualified with the schema, so that no
    /// statement depends on the state of a connection.
    struct ServerTables: Sendable {
        /// The name of the schema in quotation marks.
        let schema: String
        let name: String

        /// The version of the tables that this release makes and uses. Releases for earlier versions cannot use them, because
        /// they do not count the changes of a header.
        static let version: Int64 = 3

        /// Creates the statements for a schema.
        init(schema: String) {
            name = schema
            self.schema = "\"\(schema.replacing("\"", with: "\"\""))\""
        }

        // MARK: The schema

        /// The statements that create the tables. Docs/Formats.md contains the same text.
        var creation: [String] {
            [
                "CREATE SCHEMA IF NOT EXISTS \(schema)",
                """
                CREATE TABLE \(schema).schema_version (
                    one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL, compatible bigint NOT NULL)
                """,
                """
                CREATE TABLE \(schema).databases (
                    context bytea PRIMARY KEY, version uuid NOT NULL, origin bytea NOT NULL, sealed boolean NOT NULL,
                    database bytea, sender bytea, index_key bytea, tag bytea,
                    \(Self.headerCount.joined(separator: ", ")))
                """,
                """
                CREATE TABLE \(schema).keys (
                    context bytea NOT NULL REFERENCES \(schema).databases, key bytea NOT NULL, state smallint NOT NULL,
                    PRIMARY KEY (context, key))
                """,
                """
                CREATE TABLE \(schema).wraps (
                    context bytea NOT NULL, key bytea NOT NULL, recipient bytea NOT NULL, source text NOT NULL,
                    verifier bytea NOT NULL, wrapped bytea NOT NULL, PRIMARY KEY (context, key, recipient),
                    FOREIGN KEY (context, key) REFERENCES \(schema).keys ON DELETE CASCADE)
                """,
                """
                CREATE TABLE \(schema).records (
                    context bytea NOT NULL, namespace bytea NOT NULL, slot bytea NOT NULL, revision uuid NOT NULL,
                    key bytea, record bytea NOT NULL, labels bytea[] NOT NULL DEFAULT '{}',
                    stamp xid8 NOT NULL DEFAULT pg_current_xact_id(), expires timestamptz,
                    PRIMARY KEY (context, namespace, slot),
                    FOREIGN KEY (context, key) REFERENCES \(schema).keys (context, key))
                """,
                "CREATE INDEX records_labels ON \(schema).records USING gin (labels)",
                "CREATE INDEX records_stamp ON \(schema).records (context, stamp)",
                "CREATE INDEX records_key ON \(schema).records (context, key)",
                """
                CREATE TABLE \(schema).deletions (
                    context bytea NOT NULL, namespace bytea NOT NULL, slot bytea NOT NULL,
                    stamp xid8 NOT NULL DEFAULT pg_current_xact_id(), at timestamptz NOT NULL DEFAULT now(),
                    PRIMARY KEY (context, namespace, slot))
                """,
                "CREATE INDEX deletions_stamp ON \(schema).deletions (context, stamp)",
                """
                CREATE TABLE \(schema).commits (
                    key uuid PRIMARY KEY, abandoned boolean NOT NULL DEFAULT false, at timestamptz NOT NULL DEFAULT now())
                """,
            ] + Self.purged.map { "CREATE INDEX \($0)_at ON \(schema).\($0) USING brin (at)" }
                + historyCreation(isUpgrade: false) + [
                    "INSERT INTO \(schema).schema_version (version, compatible) VALUES (\(Self.version), \(Self.version))"
                ]
        }

        /// The columns of `schema_version` in version 2: the cluster and the timeline whose rows are complete.
        private static let acceptance = [
            "system bigint NOT NULL DEFAULT (pg_control_system()).system_identifier",
            "timeline bigint NOT NULL DEFAULT \(timeline)",
            "accepted timestamptz NOT NULL DEFAULT now()",
        ]

        /// The columns of `databases` since version 3: the counter of the header, and its proof.
        private static let headerCount = ["counter bigint NOT NULL DEFAULT 0", "proof bytea"]

        /// The tables whose rows are deleted after a day. Without the indexes, this reads the whole table.
        private static let purged = ["deletions", "commits"]

        /// The statements that upgrade the tables of version 1 and 2. Docs/Formats.md contains the same text.
        var upgrade: [String] {
            [
                "ALTER TABLE \(schema).schema_version\n"
                    + Self.acceptance.map { "    ADD COLUMN IF NOT EXISTS \($0)" }.joined(separator: ",\n")
            ] + historyCreation(isUpgrade: true) + [
                "ALTER TABLE \(schema).schema_version DROP COLUMN system, DROP COLUMN timeline, DROP COLUMN accepted"
            ] + Self.purged.map { "CREATE INDEX IF NOT EXISTS \($0)_at ON \(schema).\($0) USING brin (at)" } + [
                "ALTER TABLE \(schema).databases\n"
                    + Self.headerCount.map { "    ADD COLUMN IF NOT EXISTS \($0)" }.joined(separator: ",\n"),
                """
                UPDATE \(schema).schema_version SET version = \(Self.version), compatible = \(Self.version) \
                WHERE version < \(Self.version)
                """,
            ]
        }

        /// Reads the version of the tables, and the lowest version of a release that can use them.
        var readVersion: ServerStatement { ServerStatement("SELECT version, compatible FROM \(schema).schema_version") }

        // MARK: Transactions

        /// Begins a transaction. The server gives up each statement after the timeout. Commits are flushed before they are
        /// acknowledged, whatever the default of the server is. A statement whose rows a policy would hide fails.
        /// - Parameter milliseconds: The timeout of each statement. A timeout below 1 becomes 1, because the server reads 0
        ///   as "without a limit".
        static func begin(milliseconds: Int64) -> [ServerStatement] {
            [
                ServerStatement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
                ServerStatement(
                    """
                    SELECT set_config('statement_timeout', $1, true), set_config('row_security', 'off', true), \
                    set_config('synchronous_commit', \
                    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' \
                    ELSE current_setting('synchronous_commit') END, true)
                    """, [.text("\(max(1, milliseconds))ms")]),
            ]
        }

        static let withoutTimeout = ServerStatement("SELECT set_config('statement_timeout', '0', true)")
        static let commit = ServerStatement("COMMIT")
        static let rollback = ServerStatement("ROLLBACK")

        /// Finds out whether a transaction was committed, and when. If it was not, it is abandoned: its key is taken, so that
        /// it never will be. The answer can be requested again, because the row says who inserted it.
        ///
        /// The row is written in either case. A server process that was ended while it waited for a standby has committed
        /// without the standby. The commit of this question waits again, and includes that transaction.
        func settle(_ key: [UInt8]) -> [ServerStatement] {
            [
                ServerStatement(
                    """
                    INSERT INTO \(schema).commits AS c (key, abandoned) VALUES ($1, true) \
                    ON CONFLICT (key) DO UPDATE SET abandoned = c.abandoned
                    """, [.uuid(key)]),
                ServerStatement(
                    """
                    SELECT NOT abandoned, extract(epoch FROM at)::float8, pg_current_wal_insert_lsn() \
                    FROM \(schema).commits WHERE key = $1
                    """, [.uuid(key)]),
            ]
        }

        /// Deletes keys of transactions and notes of deletions that are older than a day.
        var purge: [ServerStatement] {
            ["commits", "deletions"].map { table in
                ServerStatement(
                    """
                    DELETE FROM \(schema).\(table) WHERE ctid IN (SELECT ctid FROM \(schema).\(table) \
                    WHERE at < now() - interval '1 day' LIMIT 10000 FOR UPDATE SKIP LOCKED)
                    """)
            }
        }

        // MARK: Rows

        /// The version of a header, followed by the transaction that has inserted or changed its row; NULL if there is no row.
        /// A restored dump is another transaction.
        static func version(of table: String) -> String { "uuid_send(\(table).version) || xidsend(\(table).xmin)" }

        private static let columns = "r.namespace, r.slot, r.revision, r.key, r.record"

        /// Reads slots. The result has a row for each, with the version of the header and the server's instance.
        /// - Parameter isStale: Whether a standby may answer. Then the age of the result replaces the instance.
        func read(_ context: [UInt8], _ places: [RowPlace], isStale: Bool = false) -> ServerStatement {
            let head = "SELECT \(Self.version(of: "d")), \(isStale ? Self.age : Self.instance), r.revision, r.key, r.record"
            if places.count == 1, let place = places.first {
                return ServerStatement(
                    """
                    \(head) FROM (VALUES (1)) s LEFT JOIN \(schema).databases d ON d.context = $1 \
                    LEFT JOIN \(schema).records r ON r.context = $1 AND r.namespace = $2 AND r.slot = $3
                    """, [.bytea(context), .bytea(place.namespace), .bytea(place.slot)])
            }
            return ServerStatement(
                """
                \(head) FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY s (namespace, slot, i) \
                LEFT JOIN \(schema).databases d ON d.context = $1 \
                LEFT JOIN \(schema).records r ON r.context = $1 AND r.namespace = s.namespace AND r.slot = s.slot ORDER BY s.i
                """, [.bytea(context), .byteas(places.map(\.namespace)), .byteas(places.map(\.slot))])
        }

        /// Reads and locks the rows of slots, in the order of their names, so that transactions do not lock each other out.
        func lock(_ context: [UInt8], _ places: [RowPlace]) -> ServerStatement {
            ServerStatement(
                """
                SELECT \(Self.columns) FROM unnest($2::bytea[], $3::bytea[]) s (namespace, slot) \
                JOIN \(schema).records r ON r.context = $1 AND r.namespace = s.namespace AND r.slot = s.slot \
                ORDER BY r.namespace, r.slot FOR UPDATE OF r
                """, [.bytea(context), .byteas(places.map(\.namespace)), .byteas(places.map(\.slot))])
        }

        /// Inserts a row. Fails with 23505 if another transaction has inserted one.
        func insert(_ context: [UInt8], _ place: RowPlace, _ row: StoredRow) -> ServerStatement {
            ServerStatement(
                """
                INSERT INTO \(schema).records (context, namespace, slot, revision, key, record, labels, expires) \
                VALUES ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8))
                """, parameters(context, place, row))
        }

        /// Replaces a locked row.
        func update(_ context: [UInt8], _ place: RowPlace, _ row: StoredRow) -> ServerStatement {
            ServerStatement(
                """
                UPDATE \(schema).records SET revision = $4, key = $5, record = $6, labels = $7, expires = to_timestamp($8), \
                stamp = pg_current_xact_id() WHERE context = $1 AND namespace = $2 AND slot = $3
                """, parameters(context, place, row))
        }

        /// Deletes a locked row.
        func delete(_ context: [UInt8], _ place: RowPlace) -> ServerStatement {
            ServerStatement(
                "DELETE FROM \(schema).records WHERE context = $1 AND namespace = $2 AND slot = $3",
                [.bytea(context), .bytea(place.namespace), .bytea(place.slot)])
        }

        /// Notes that a row was deleted, for the machines that follow changes.
        func noteDeletion(_ context: [UInt8], _ place: RowPlace) -> ServerStatement {
            ServerStatement(
                """
                INSERT INTO \(schema).deletions (context, namespace, slot) VALUES ($1, $2, $3) \
                ON CONFLICT (context, namespace, slot) DO UPDATE SET stamp = excluded.stamp, at = excluded.at
                """, [.bytea(context), .bytea(place.namespace), .bytea(place.slot)])
        }

        /// Returns the lowest transaction that may still be running, whether rows were changed or deleted since an earlier
        /// such transaction, the server's instance, and the version of the header.
        ///
        /// On one branch, a transaction that ends later has a higher stamp, so no change is missed. A promoted standby uses
        /// the numbers of lost transactions again.
        func changes(_ context: [UInt8], since stamp: String) -> ServerStatement {
            let condition = "WHERE context = $1 AND stamp >= $2::text::xid8"
            return ServerStatement(
                """
                SELECT pg_snapshot_xmin(pg_current_snapshot())::text, \
                EXISTS (SELECT 1 FROM \(schema).records \(condition)) OR EXISTS (SELECT 1 FROM \(schema).deletions \(condition)), \
                \(Self.instance), (SELECT \(Self.version(of: "d")) FROM \(schema).databases d WHERE d.context = $1)
                """, [.bytea(context), .text(stamp)])
        }

        /// Deletes a row if it has the given content.
        func delete(_ context: [UInt8], _ place: RowPlace, record: [UInt8]) -> ServerStatement {
            ServerStatement(
                "DELETE FROM \(schema).records WHERE context = $1 AND namespace = $2 AND slot = $3 AND record = $4",
                [.bytea(context), .bytea(place.namespace), .bytea(place.slot), .bytea(record)])
        }

        private func parameters(_ context: [UInt8], _ place: RowPlace, _ row: StoredRow) -> [ServerStatement.Parameter] {
            [
                .bytea(context), .bytea(place.namespace), .bytea(place.slot), .uuid(row.revision), row.key.map { .bytea($0) } ?? .null,
                .bytea(row.record), .byteas(row.labels), .float8(row.expires),
            ]
        }

        /// Reads a page of the rows of a namespace, in the order of their slots.
        /// - Parameters:
        ///   - labels: The labels that a row must have; a row with `unindexed` is returned in any case.
        ///   - last: The slot of the last row before the page.
        func page(
            _ context: [UInt8], _ namespace: [UInt8], labels: [[UInt8]], unindexed: [UInt8], after last: [UInt8], limit: Int
        ) -> ServerStatement {
            let condition = labels.isEmpty ? "" : "AND (r.labels @> $5 OR r.labels @> $6) "
            return ServerStatement(
                """
                SELECT \(Self.columns) FROM \(schema).records r \
                WHERE r.context = $1 AND r.namespace = $2 AND r.slot > $3 \(condition)ORDER BY r.slot LIMIT $4
                """,
                [.bytea(context), .bytea(namespace), .bytea(last), .int8(Int64(limit))]
                    + (labels.isEmpty ? [] : [.byteas(labels), .byteas([unindexed])]))
        }

        // MARK: The header

        /// Reads the header of a database, and the server's instance.
        /// - Parameter isStale: Whether a standby may answer. Then the age of the result replaces the instance.
        func header(_ context: [UInt8], isStale: Bool = false) -> [ServerStatement] {
            [
                ServerStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
                ServerStatement(
                    """
                    SELECT \(isStale ? Self.age : Self.instance), \(Self.version(of: "d")), d.origin, d.sealed, d.database, d.sender, d.index_key, d.tag, \
                    d.counter, d.proof \
                    FROM (VALUES (1)) s LEFT JOIN \(schema).databases d ON d.context = $1
                    """, [.bytea(context)]),
                ServerStatement("SELECT key, state FROM \(schema).keys WHERE context = $1", [.bytea(context)]),
                ServerStatement(
                    "SELECT key, recipient, source, verifier, wrapped FROM \(schema).wraps WHERE context = $1", [.bytea(context)]),
                Self.commit,
            ]
        }

        /// Reads the version of the header in a transaction, and the server's instance. The result has one row.
        func version(_ context: [UInt8]) -> ServerStatement {
            ServerStatement(
                "SELECT \(Self.version(of: "d")), \(Self.instance) FROM (VALUES (1)) s LEFT JOIN \(schema).databases d ON d.context = $1",
                [.bytea(context)])
        }

        /// How many seconds ago a standby has replayed the last transaction; NULL if it has replayed none since its start.
        /// Everything before that transaction is in its rows.
        private static let age =
            "CASE WHEN pg_is_in_recovery() THEN extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 ELSE 0::float8 END"
    }
#endif
