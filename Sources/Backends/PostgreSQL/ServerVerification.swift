#if PostgreSQL
    import Sealing

    /// Checks before a commit that the server has stored every change of the transaction.
    ///
    /// A trigger or a rule of a table can drop a change without an error: the server then reports success, with no row. The
    /// statements of a transaction are sent together with its commit, so the server itself must refuse the commit: a check casts a text
    /// to a number if a change is missing, and the error ends the transaction. Its message contains the text, with the name of the table.
    /// Reason: "The server checks what a transaction has stored" in Docs/Decisions/Server.md.
    extension ServerTables {
        /// The expected row of a slot at the end of a transaction.
        struct ExpectedRow: Sendable {
            let place: RowPlace
            /// The revision; empty for no row.
            let revision: [UInt8]
        }

        /// Records the key of a transaction, and checks its changes. Returns the server's time, and a position in its log before the
        /// commit. A second transaction with the same key waits for the first one and fails if that one was committed.
        /// - Parameters:
        ///   - key: The key.
        ///   - rows: The rows that the transaction has changed.
        ///   - deletions: The number of deletions that it has noted.
        func record(_ key: [UInt8], context: [UInt8], rows: [ExpectedRow], deletions: Int) -> ServerStatement {
            var checks = [Self.check("NOT EXISTS (SELECT FROM c)", table: "commits")]
            var parameters: [ServerStatement.Parameter] = [.uuid(key)]
            if rows.count == 1, let row = rows.first {
                let stored = "SELECT uuid_send(revision) FROM \(schema).records WHERE context = $2 AND namespace = $3 AND slot = $4"
                checks.append(Self.check("coalesce((\(stored)), '') <> $5", table: "records"))
                parameters += [.bytea(context), .bytea(row.place.namespace), .bytea(row.place.slot), .bytea(row.revision)]
            } else if !rows.isEmpty {
                let stored = """
                    SELECT FROM unnest($3::bytea[], $4::bytea[], $5::bytea[]) e (namespace, slot, revision) \
                    LEFT JOIN \(schema).records r ON r.context = $2 AND r.namespace = e.namespace AND r.slot = e.slot \
                    WHERE coalesce(uuid_send(r.revision), '') <> e.revision
                    """
                checks.append(Self.check("EXISTS (\(stored))", table: "records"))
                let places = rows.map(\.place)
                parameters += [
                    .bytea(context), .byteas(places.map(\.namespace)), .byteas(places.map(\.slot)), .byteas(rows.map(\.revision)),
                ]
            }
            if deletions > 0 {
                let noted = "SELECT count(*) FROM \(schema).deletions WHERE context = $2 AND stamp = pg_current_xact_id()"
                checks.append(Self.check("(\(noted)) < $6", table: "deletions"))
                parameters.append(.int8(Int64(deletions)))
            }
            return ServerStatement(
                """
                WITH c AS (INSERT INTO \(schema).commits (key) VALUES ($1) RETURNING at) \
                SELECT (SELECT extract(epoch FROM at)::float8 FROM c), pg_current_wal_insert_lsn(), \(Self.verdict(checks))
                """, parameters)
        }

        /// Checks that a transaction has stored a header and its keys, and no others.
        /// - Parameter header: The header of a sealed database; nil for a plain one.
        func requireHeader(_ context: [UInt8], version: [UInt8], header: ServerHeader?) -> ServerStatement {
            let database = "SELECT FROM \(schema).databases WHERE context = $1 AND version = $2"
            guard let header else {
                let check = Self.check("NOT EXISTS (\(database))", table: "databases")
                return ServerStatement("SELECT \(Self.verdict([check]))", [.bytea(context), .uuid(version)])
            }
            /// Compares the rows of a table with an array: an expression has each of its elements exactly once.
            func differs(_ table: String, row: String, elements: String) -> String {
                """
                (SELECT count(*) <> cardinality(\(elements)) OR count(*) FILTER (WHERE \(row) = ANY (\(elements))) <> count(*) \
                FROM \(schema).\(table) WHERE context = $1)
                """
            }
            let keys = header.keys.keys.map { $0.id + [0, $0.state.rawValue] }
            let checks = [
                Self.check("NOT EXISTS (\(database) AND tag = $3)", table: "databases"),
                Self.check(differs("keys", row: "key || int2send(state)", elements: "$4::bytea[]"), table: "keys"),
                Self.check(differs("wraps", row: "wrapped", elements: "$5::bytea[]"), table: "wraps"),
            ]
            return ServerStatement(
                "SELECT \(Self.verdict(checks))",
                [.bytea(context), .uuid(version), .bytea(header.tag), .byteas(keys), .byteas(header.keys.wraps.map(\.wrapped))])
        }

        /// Checks that a transaction has sealed rows again with a key.
        func requireKey(_ key: [UInt8], of places: [RowPlace], context: [UInt8]) -> ServerStatement {
            let stored = """
                SELECT FROM unnest($3::bytea[], $4::bytea[]) e (namespace, slot) \
                JOIN \(schema).records r ON r.context = $2 AND r.namespace = e.namespace AND r.slot = e.slot WHERE r.key <> $1
                """
            return ServerStatement(
                "SELECT \(Self.verdict([Self.check("EXISTS (\(stored))", table: "records")]))",
                [.bytea(key), .bytea(context), .byteas(places.map(\.namespace)), .byteas(places.map(\.slot))])
        }

        private static func check(_ isMissing: String, table: String) -> String {
            "WHEN \(isMissing) THEN '\(ServerFault.dropState) \(table)'"
        }

        /// An expression that is NULL if no check finds a missing change. Otherwise it ends the transaction with an error.
        private static func verdict(_ checks: [String]) -> String { "(CASE \(checks.joined(separator: " ")) END)::int" }
    }

    // MARK: Row-level security

    extension ServerTables {
        /// Reads the names of the tables in which policies can hide rows from the role. A hidden row would be reported as absent.
        /// Reason: "Row-level security is refused" in Docs/Decisions/Server.md.
        var readFiltered: ServerStatement {
            ServerStatement(
                """
                SELECT coalesce(string_agg(c.relname::text, ', '), '') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                WHERE n.nspname = $1 AND c.relname = ANY (string_to_array($2, ',')) AND row_security_active(c.oid)
                """, [.text(name), .text("schema_version,history,databases,keys,wraps,records,deletions,commits")])
        }

        /// Checks the result of ``readFiltered``.
        func requireUnfiltered(_ result: ServerRows?) throws(ServerFault) {
            guard let names = result?.rows.first?.text(0), !names.isEmpty else { return }
            throw ServerFault("LD005", "Row-level security can hide rows from this role, in \(names) of the schema \(name)")
        }
    }

    extension ServerFault {
        /// The state of the error for a change that the server has dropped.
        static let dropState = "LD004"

        /// Whether the server has dropped a change.
        var isDrop: Bool { state == Self.dropState }

        /// The error for a dropped change of a table.
        static func drop(of table: some StringProtocol) -> ServerFault {
            ServerFault(dropState, "The server has not stored a change of the table \(table)")
        }

        /// Returns the error for a dropped change; nil for another message of the server.
        static func drop(message: String) -> ServerFault? {
            message.firstMatch(of: #/"LD004 ([a-z_]+)"/#).map { drop(of: $0.1) }
        }
    }
#endif
