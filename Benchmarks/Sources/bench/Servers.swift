#if BENCH_SERVER
    import CLibPQ
    import Foundation
    import LocalData
    import LocalDataPostgreSQL

    /// Compares a database on a PostgreSQL server with the same SQL, sent through libpq in the same pipelines. Needs a
    /// server, which `Scripts/bench server` starts.
    struct Servers {
        let root: URL
        let results: Results
        let isQuick: Bool

        private struct Note: Codable {
            var title = "A note of some size"
            var body = String(repeating: "text ", count: 12)
        }

        private func key(_ index: Int) -> StorageKey<Note> {
            StorageKey<Note>(name: "note-\(index)", domain: .postgreSQL(database: "bench"), owner: "Bench", description: "A note")
        }

        func run() async throws {
            guard let server = ProcessInfo.processInfo.environment["BENCH_SERVER"] else {
                fatalError("Run this with Scripts/bench server.")
            }
            var configuration = configuration(root)
            configuration.keySource = .keyFile(root.path + "/key")
            // Each run has a new key, so it needs new tables.
            let schema = "bench_\(UInt32.random(in: .min ... .max))"
            configuration.usePostgreSQL(PostgreSQLServer(server, schema: schema))
            let router = StorageRouter(configuration: configuration)
            let rows = 1_000
            for start in stride(from: 0, to: rows, by: 500) {
                try await router.batch { batch in for index in start..<start + 500 { batch.set(Note(), for: key(index)) } }
            }
            let peer = try LibPQPeer(server, schema, rows: rows)
            let (gets, puts) = (isQuick ? 200 : 500, isQuick ? 50 : 200)
            var contest = Contest(rounds: isQuick ? 5 : 11)
            contest.add("libpq get") { for index in 0..<gets { try peer.get(index) } }
            // Two switches between threads, which no call avoids that does not block a thread of Swift's pool.
            contest.add("libpq get, awaited") { for index in 0..<gets { try await peer.awaitedGet(index) } }
            contest.add("get") { for index in 0..<gets { _ = try await router.get(key(index)) } }
            contest.add("libpq put") { for index in 0..<puts { try peer.put(index) } }
            contest.add("set") { for index in 0..<puts { try await router.set(Note(), for: key(index)) } }
            contest.add("64 tasks") {
                try await withThrowingTaskGroup { group in
                    for task in 0..<64 {
                        group.addTask {
                            for index in stride(from: task, to: rows, by: 64) { try await router.set(Note(), for: key(index)) }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            let times = try await contest.run()
            func each(_ name: String, _ count: Int) -> Double { times[name, default: 0] / Double(count) }
            let (get, put, awaited) = (each("libpq get", gets), each("libpq put", puts), each("libpq get, awaited", gets))
            results.begin("PostgreSQL on the same machine, through a socket (durable commits; rows of \(peer.recordLength) bytes)")
            results.time("libpq with the same SQL, get", get)
            results.time("libpq with the same SQL, get, on a queue and awaited by a task", awaited, .init("libpq", awaited / get))
            results.time(
                "get", each("get", gets), .init("libpq on a queue, awaited", each("get", gets) / awaited, .atMost(1.2)),
                .init("libpq", each("get", gets) / get))
            results.time("libpq with the same SQL, one transaction a put", put)
            results.time("set", each("set", puts), .init("libpq", each("set", puts) / put, .atMost(1.2)))
            results.time(
                "set, 64 tasks", each("64 tasks", rows),
                .init("the rate of one libpq transaction a put", put / each("64 tasks", rows), .atLeast(6)))
            try await router.shutdown()
        }
    }

    /// A connection that runs the statements of LocalData and does nothing else: nothing is encrypted, and no result is
    /// kept.
    ///
    /// `@unchecked Sendable`: one call runs at a time.
    private final class LibPQPeer: @unchecked Sendable {
        private let connection: OpaquePointer
        private let context = [UInt8](repeating: 7, count: 16)
        private let namespace = [UInt8](repeating: 1, count: 16)
        /// The length of a record of LocalData, and of the peer's records.
        let recordLength: Int

        private enum Parameter {
            case bytea([UInt8])
            case uuid([UInt8])
            case text(String)
            case array([[UInt8]])
            case null(Oid)

            var content: (Oid, [UInt8]?) {
                switch self {
                case .bytea(let bytes): (17, bytes)
                case .uuid(let bytes): (2_950, bytes)
                case .text(let text): (25, Array(text.utf8))
                case .array(let elements): (1_001, Self.bytes(elements))
                case .null(let type): (type, nil)
                }
            }

            private static func bytes(_ elements: [[UInt8]]) -> [UInt8] {
                func word(_ number: Int) -> [UInt8] { withUnsafeBytes(of: Int32(number).bigEndian) { Array($0) } }
                guard !elements.isEmpty else { return [0, 0, 17].flatMap(word) }
                return [1, 0, 17, elements.count, 1].flatMap(word) + elements.flatMap { word($0.count) + $0 }
            }
        }

        private let schema: String

        init(_ server: String, _ schema: String, rows: Int) throws {
            guard let connection = PQconnectdb(server), PQstatus(connection) == CONNECTION_OK else { fatalError("not connected") }
            (self.connection, self.schema) = (connection, schema)
            guard let length = PQexec(connection, "SELECT max(octet_length(record)) FROM \(schema).records"),
                let text = PQgetvalue(length, 0, 0), let count = Int(String(cString: text))
            else { fatalError("no rows") }
            recordLength = count
            PQclear(length)
            PQenterPipelineMode(connection)
            run([
                (
                    "INSERT INTO \(schema).databases (context, version, origin, sealed) VALUES ($1, gen_random_uuid(), $1, false)",
                    [.bytea(context)]
                )
            ])
            for row in 0..<rows {
                run([
                    (
                        """
                        INSERT INTO \(schema).records (context, namespace, slot, revision, record) \
                        VALUES ($1, $2, $3, gen_random_uuid(), $4)
                        """, [.bytea(context), .bytea(namespace), .bytea(slot(row)), .bytea(record(row))]
                    )
                ])
            }
        }

        deinit { PQfinish(connection) }

        private func slot(_ row: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(row &* 7_919).bigEndian) { Array($0) + Array($0) } }

        private func record(_ seed: Int) -> [UInt8] { (0..<recordLength).map { UInt8(truncatingIfNeeded: $0 &* seed &+ $0 >> 3) } }

        private var random: [UInt8] {
            withUnsafeBytes(of: (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))) { Array($0) }
        }

        /// Reads a row in one round trip.
        func get(_ row: Int) throws {
            run([
                (
                    """
                    SELECT d.version, pg_is_in_recovery(), r.revision, r.key, r.record FROM (VALUES (1)) s \
                    LEFT JOIN \(schema).databases d ON d.context = $1 \
                    LEFT JOIN \(schema).records r ON r.context = $1 AND r.namespace = $2 AND r.slot = $3
                    """, [.bytea(context), .bytea(namespace), .bytea(slot(row))]
                )
            ])
        }

        /// Reads a row on a serial queue, while the caller's task waits.
        func awaitedGet(_ row: Int) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                queue.async { continuation.resume(with: Result { try self.get(row) }) }
            }
        }

        private let queue = DispatchQueue(label: "peer")

        /// Replaces a row in one transaction of two round trips.
        func put(_ row: Int) throws {
            run([
                ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", []),
                (
                    """
                    SELECT set_config('statement_timeout', $1, true), set_config('synchronous_commit', \
                    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' \
                    ELSE current_setting('synchronous_commit') END, true)
                    """, [.text("10000ms")]
                ),
                ("SELECT version FROM \(schema).databases WHERE context = $1", [.bytea(context)]),
                (
                    """
                    SELECT r.namespace, r.slot, r.revision, r.key, r.record FROM unnest($2::bytea[], $3::bytea[]) s (namespace, slot) \
                    JOIN \(schema).records r ON r.context = $1 AND r.namespace = s.namespace AND r.slot = s.slot \
                    ORDER BY r.namespace, r.slot FOR UPDATE OF r
                    """, [.bytea(context), .array([namespace]), .array([slot(row)])]
                ),
            ])
            run([
                (
                    """
                    UPDATE \(schema).records SET revision = $4, key = $5, record = $6, labels = $7, expires = to_timestamp($8), \
                    stamp = pg_current_xact_id() WHERE context = $1 AND namespace = $2 AND slot = $3
                    """,
                    [
                        .bytea(context), .bytea(namespace), .bytea(slot(row)), .uuid(random), .null(17), .bytea(record(row)), .array([]),
                        .null(701),
                    ]
                ),
                ("INSERT INTO \(schema).commits (key) VALUES ($1)", [.uuid(random)]),
                ("COMMIT", []),
            ])
        }

        /// Runs statements in one round trip. The program ends if one fails.
        private func run(_ statements: [(sql: String, parameters: [Parameter])]) {
            for (sql, parameters) in statements {
                let contents = parameters.map(\.content)
                let texts = contents.map { content in
                    content.1.map { bytes in
                        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, bytes.count))
                        for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
                        return copy
                    }
                }
                defer { for text in texts { text?.deallocate() } }
                PQsendQueryParams(
                    connection, sql, Int32(contents.count), contents.map(\.0), texts.map { $0.map { UnsafePointer($0) } },
                    contents.map { Int32($0.1?.count ?? 0) }, contents.map { _ in 1 }, 1)
            }
            PQpipelineSync(connection)
            while true {
                guard let result = PQgetResult(connection) else { continue }
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_PIPELINE_SYNC: return
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
                default: fatalError(PQresultErrorMessage(result).map { String(cString: $0) } ?? "failed")
                }
            }
        }
    }
#endif
