#if PostgreSQL && os(Linux)
    import Foundation

    /// PgBouncer in transaction mode, with two connections to a server.
    package final class PrivatePgBouncer: Sendable {
        private let home: TemporaryDirectory
        private let program: RunningProgram
        private let port: Int
        /// The connection string for clients.
        package let conninfo: String

        /// Starts a pooler that leads to a server.
        package init(_ server: PrivatePostgreSQL) async throws {
            home = try TemporaryDirectory()
            if geteuid() == 0 { chown(home.path, 65_534, 65_534) }
            let port = Int.random(in: 30_000..<40_000)
            self.port = port
            try Self.settings(port, server).write(toFile: home.file("pgbouncer.ini"), atomically: false, encoding: .utf8)
            let words = try Program.asNobody(Program.path("pgbouncer")) + [home.file("pgbouncer.ini")]
            program = try RunningProgram(words[0], Array(words.dropFirst()))
            conninfo = "host=127.0.0.1 port=\(port) user=owner dbname=postgres"
        }

        /// Leads all clients to another server, without closing their connections.
        /// - Throws: If the pooler does not follow.
        package func lead(to server: PrivatePostgreSQL) async throws {
            try Self.settings(port, server).write(toFile: home.file("pgbouncer.ini"), atomically: false, encoding: .utf8)
            var answer: [String] = []
            for _ in 0..<2_000 {
                program.signal(SIGHUP)
                answer = try await Self.sql("SELECT setting FROM pg_settings WHERE name = 'port'", conninfo)
                if answer == ["\(server.port ?? 0)"] { return }
            }
            throw ProgramFailure("The pooler still leads to \(answer), not to port \(server.port ?? 0).")
        }

        private static func sql(_ text: String, _ conninfo: String) async throws -> [String] {
            try await run("psql", ["-X", "-q", "-A", "-t", conninfo], input: text).lines
        }

        private static func settings(_ port: Int, _ server: PrivatePostgreSQL) -> String {
            """
            [databases]
            postgres = host=127.0.0.1 port=\(server.port ?? 0) user=owner
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = 2
            """
        }
    }
#endif
