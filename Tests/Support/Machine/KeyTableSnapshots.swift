#if os(Linux)
    /// Copies of the header and the key tables of a schema, as the administrator of a server can make them and put them
    /// back, without a restart and without touching the rows of values.
    package final class KeyTableSnapshots: Sendable {
        private let server: PrivatePostgreSQL
        private let schema: String

        /// Creates a list of snapshots.
        package init(_ server: PrivatePostgreSQL, schema: String) { (self.server, self.schema) = (server, schema) }

        private static let tables = ["databases", "keys", "wraps"]

        /// Copies the present tables under a number.
        package func take(_ number: Int) async throws {
            try await server.sql(
                Self.tables.map { "CREATE TABLE \"\(schema)\".saved_\(number)_\($0) AS TABLE \"\(schema)\".\($0);" }.joined(separator: "\n")
            )
        }

        /// Puts the tables of a number back. Foreign keys are not checked, because rows name later keys.
        package func putBack(_ number: Int) async throws {
            let deletions = Self.tables.reversed().map { "DELETE FROM \"\(schema)\".\($0);" }
            let copies = Self.tables.map { "INSERT INTO \"\(schema)\".\($0) SELECT * FROM \"\(schema)\".saved_\(number)_\($0);" }
            try await server.sql(
                (["BEGIN;", "SET LOCAL session_replication_role = replica;"] + deletions + copies + ["COMMIT;"]).joined(separator: "\n"))
        }
    }
#endif
