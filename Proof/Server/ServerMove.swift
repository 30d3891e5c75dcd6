#if PostgreSQL && os(Linux)
    import Foundation
    import LocalData
    import LocalDataPostgreSQL
    package import TestSupport

    /// Several processes move the same encrypted database to a server. They are killed at random and started again.
    package struct ServerMove: Sendable {
        package let kills: Int
        /// The number of sweeps that ended without a problem.
        package let sweeps: Int
        package let seconds: Double
        package let findings: [String]

        private static let processes = 4

        /// Fills a database, moves it, and reads every value from another machine.
        /// - Parameters:
        ///   - count: The number of values.
        ///   - kills: The number of kills. There are fewer if four sweeps end before.
        ///   - seed: The seed of the kills.
        ///   - program: The program that runs ``sweep(folder:server:count:)`` with these words.
        package init(count: Int, kills least: Int, seed: UInt64, program: (_ words: [String]) throws -> RunningProgram) async throws {
            let server = try await PrivatePostgreSQL()
            let folder = try TemporaryDirectory()
            let root = try folder.folder("machine")
            try await Self.fill(root, server: server.conninfo, count)
            var dice = SeededGenerator(seed)
            let words = [root, server.conninfo, "\(count)"]
            var running = try (0..<Self.processes).map { _ in try program(words) }
            var (kills, sweeps, findings) = (0, 0, [String]())
            let begin = ContinuousClock.now
            func note(_ result: ProgramResult) {
                switch result.status {
                case 0: sweeps += 1
                case SIGKILL: kills += 1
                default: findings.append("a sweep ended with \(result.status): \(result.stderr.suffix(500))")
                }
            }
            while kills < least, sweeps < Self.processes {
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...900, using: &dice)))
                let victim = running.remove(at: Int.random(in: 0..<running.count, using: &dice))
                victim.signal(SIGKILL)
                note(await victim.end())
                running.append(try program(words))
            }
            for process in running { note(await process.end()) }
            seconds = (ContinuousClock.now - begin) / .seconds(1)
            findings += try await Self.check(root, folder, server, count)
            (self.kills, self.sweeps, self.findings) = (kills, sweeps, findings)
        }

        // MARK: The values

        private struct Catalog: StorageKeyCatalog {
            let allKeys: [AnyStorageKey]
        }

        private static func local(_ number: Int) -> StorageKey<String> {
            StorageKey(name: "key \(number)", domain: .encryptedSQLite(database: "local"))
        }

        private static func shared(_ number: Int) -> StorageKey<String> {
            StorageKey(name: "key \(number)", domain: .postgreSQL(database: "main")).moved(from: local(number))
        }

        private static func machine(_ root: String, _ server: String) -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: root), applicationID: "com.example.move")
            configuration.keySource = .keyFile("\(root)/key")
            configuration.usePostgreSQL(PostgreSQLServer(server, deadline: .seconds(30)))
            return StorageRouter(configuration: configuration)
        }

        private static func fill(_ root: String, server: String, _ count: Int) async throws {
            let storage = machine(root, server)
            for start in stride(from: 0, to: count, by: 500) {
                try await storage.batch { batch in
                    for number in start..<min(start + 500, count) { batch.set("value \(number)", for: local(number)) }
                }
            }
            try await storage.shutdown()
        }

        /// Moves all values. A process runs this.
        package static func sweep(folder root: String, server: String, count: Int) async throws {
            let storage = machine(root, server)
            let catalog = Catalog(allKeys: (0..<count).map { .key(shared($0)) })
            _ = try await storage.registerCatalog(catalog, migrateImmediately: true)
            try await storage.shutdown()
        }

        /// Reads every value from a machine that has the key and nothing else, and counts the rows of both databases.
        private static func check(
            _ root: String, _ folder: TemporaryDirectory, _ server: PrivatePostgreSQL, _ count: Int
        ) async throws -> [String] {
            var findings: [String] = []
            let other = try folder.folder("other")
            try FileManager.default.copyItem(atPath: "\(root)/key", toPath: "\(other)/key")
            let (reader, mover) = (machine(other, server.conninfo), machine(root, server.conninfo))
            for number in 0..<count {
                let value = try await reader.value(for: shared(number))
                if value != "value \(number)" { findings.append("key \(number) is \(value ?? "absent") on the server") }
                if let older = try await mover.value(for: local(number)) { findings.append("key \(number) is still \(older) in SQLite") }
            }
            let rows = try await server.sql(
                "SELECT count(*) FROM localdata.records r JOIN localdata.databases d USING (context) WHERE encode(d.origin, 'escape') LIKE '%main%'"
            )
            if rows != ["\(count)"] { findings.append("the server has \(rows.joined()) rows instead of \(count)") }
            for storage in [reader, mover] { try await storage.shutdown() }
            return findings
        }
    }
#endif
