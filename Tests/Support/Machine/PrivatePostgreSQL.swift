#if os(Linux)
    import Foundation
    import Synchronization

    /// A PostgreSQL server in a temporary folder, which listens on a socket in that folder. If the tests run as root, the
    /// server runs as the user 65534. It ends with the object, and with the test process.
    package final class PrivatePostgreSQL: Sendable {
        private let home: TemporaryDirectory
        private let process = Mutex<RunningProgram?>(nil)
        private let settings: [String]
        /// The folder of the cluster.
        private let data: String
        /// The port on the loopback interface; nil if the server listens on its socket only.
        package let port: Int?

        /// The folder in which Debian installs the programs of the server, for the latest installed version.
        private static let programs: String = {
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
            let latest = versions.max { $0.compare($1, options: .numeric) == .orderedAscending }
            return "/usr/lib/postgresql/\(latest ?? "15")/bin"
        }()

        /// Creates a cluster and starts its server.
        /// - Parameters:
        ///   - settings: Settings of the server, such as `max_connections=5`.
        ///   - listens: Whether the server also listens on the loopback interface.
        ///   - data: An empty folder for the cluster, which belongs to user 65534; nil for a temporary folder.
        ///   - primary: The server whose changes the new server replays, as its standby; nil for a new primary.
        /// - Throws: ``MissingProgram`` with the command that installs the server.
        package init(
            _ settings: [String] = [], listens: Bool = false, data: String? = nil, standbyOf primary: PrivatePostgreSQL? = nil
        ) async throws {
            port = listens ? Int.random(in: 20_000..<30_000) : nil
            self.settings = settings + (port.map { ["listen_addresses=*", "port=\($0)"] } ?? ["listen_addresses="])
            home = try TemporaryDirectory()
            self.data = data ?? home.file("data")
            guard FileManager.default.isExecutableFile(atPath: "\(Self.programs)/initdb") else {
                throw MissingProgram(name: "initdb", package: "postgresql")
            }
            if geteuid() == 0 { chown(home.path, 65_534, 65_534) }
            if let primary {
                let source = ["-h", primary.folder, "-U", "owner", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync"]
                try await Self.make("pg_basebackup", source + (primary.port.map { ["-p", "\($0)"] } ?? []))
            } else {
                try await Self.make("initdb", ["-D", self.data, "-A", "trust", "-U", "owner", "--no-sync"])
            }
            try await start()
        }

        private static func make(_ program: String, _ arguments: [String]) async throws {
            let words = try Program.asNobody("\(programs)/\(program)") + arguments
            let made = try await run(words[0], Array(words.dropFirst()))
            guard made.status == 0 else { throw ProgramFailure("\(program): \(made.stderr)") }
        }

        /// The server that the tests of this process share.
        package static func shared() async throws -> PrivatePostgreSQL { try await sharedTask.value }

        private static let sharedTask = Task {
            let server = try await PrivatePostgreSQL(["max_connections=500"])
            atexit { PrivatePostgreSQL.removeShared() }
            sharedHome.withLock { $0 = server.home.path }
            return server
        }
        private static let sharedHome = Mutex("")

        private static func removeShared() {
            let path = sharedHome.withLock(\.self)
            if !path.isEmpty { try? FileManager.default.removeItem(atPath: path) }
        }

        /// Starts the server and waits until it accepts connections.
        package func start() async throws {
            let words = try Program.asNobody("\(Self.programs)/postgres")
            let options = ["-D", data, "-k", home.path] + (["log_min_messages=fatal"] + settings).flatMap { ["-c", $0] }
            let program = try RunningProgram(words[0], Array(words.dropFirst()) + options)
            process.withLock { $0 = program }
            for _ in 0..<600 {
                if try await run("\(Self.programs)/pg_isready", ["-h", home.path] + (port.map { ["-p", "\($0)"] } ?? [])).status == 0 {
                    return
                }
                try await Task.sleep(for: .milliseconds(100))
            }
            throw ProgramFailure("The server did not start: \(await program.kill())")
        }

        /// Kills the server and all its processes with SIGKILL, as a crash of the machine would, except that the page
        /// cache survives.
        package func kill() async throws {
            let program = process.withLock { program in
                defer { program = nil }
                return program
            }
            guard let program else { return }
            // A stopped server starts no new processes. A process that survived would keep the output open, and the next server
            // would not start.
            program.signal(SIGSTOP)
            let children = try await run("pgrep", ["-P", "\(program.processID)"]).lines.compactMap { Int32($0) }
            for child in children { Foundation.kill(child, SIGKILL) }
            await program.kill()
        }

        /// Copies the files of the cluster, as a snapshot of its disk does. The server is stopped.
        package func saveFiles() async throws { try await Self.copy(data, to: home.file("saved")) }

        /// Puts the copied files back. The server is stopped.
        package func putFilesBack() async throws {
            try FileManager.default.removeItem(atPath: data)
            try await Self.copy(home.file("saved"), to: data)
        }

        private static func copy(_ source: String, to target: String) async throws {
            let made = try await run("cp", ["-a", source, target])
            guard made.status == 0 else { throw ProgramFailure("cp: \(made.stderr)") }
        }

        /// Returns a dump of a schema as SQL, made by `pg_dump`.
        package func dump(_ schema: String, _ options: [String] = []) async throws -> String {
            let words = ["-h", home.path, "-U", "owner", "-n", schema] + options + (port.map { ["-p", "\($0)"] } ?? []) + ["postgres"]
            let made = try await run("\(Self.programs)/pg_dump", words)
            guard made.status == 0 else { throw ProgramFailure("pg_dump: \(made.stderr)") }
            return made.stdout
        }

        /// Promotes this standby to a primary, with a new timeline.
        package func promote() async throws { try await Self.make("pg_ctl", ["promote", "-D", data]) }

        /// Waits until this standby has replayed every change that a primary has made so far.
        package func catchUp(with primary: PrivatePostgreSQL) async throws {
            let position = try await primary.sql("SELECT pg_current_wal_flush_lsn()").joined()
            while try await sql("SELECT pg_last_wal_replay_lsn() >= '\(position)'") != ["t"] { await Task.yield() }
        }

        /// Separates this standby from its primary. Later changes of the primary do not reach it.
        package func leavePrimary() async throws {
            try await sql("ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()")
            while try await sql("SELECT count(*) FROM pg_stat_wal_receiver") != ["0"] { await Task.yield() }
        }

        /// Stops the server. Open transactions are rolled back.
        package func stop() async {
            guard let program = process.withLock({ $0 }) else { return }
            program.signal(SIGINT)
            _ = await program.end()
        }

        /// The connection string for the owner of the cluster.
        package var conninfo: String { conninfo(user: "owner") }

        /// Returns the connection string for a role.
        package func conninfo(user: String, database: String = "postgres") -> String {
            "host=\(home.path) user=\(user) dbname=\(database)\(port.map { " port=\($0)" } ?? "")"
        }

        /// Adds a rule for clients before the others, in the format of `pg_hba.conf`.
        package func addAccessRule(_ rule: String) async throws {
            let file = "\(data)/pg_hba.conf"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try "\(rule)\n\(text)".write(toFile: file, atomically: false, encoding: .utf8)
            try await sql("SELECT pg_reload_conf()")
        }

        /// The folder of the socket.
        package var folder: String { home.path }

        /// Runs SQL as the owner and returns the lines of the result.
        @discardableResult
        package func sql(_ text: String, user: String = "owner") async throws -> [String] {
            let result = try await run(
                "\(Self.programs)/psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", conninfo(user: user)], input: text)
            guard result.status == 0 else { throw ProgramFailure("psql: \(result.stderr)") }
            return result.lines
        }
    }
#endif
