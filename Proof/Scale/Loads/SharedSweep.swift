#if PostgreSQL && os(Linux)
    import Foundation
    import LocalData
    import LocalDataPostgreSQL
    package import TestSupport

    /// Four machines sweep one catalog, while two other machines read and write the same keys.
    ///
    /// Before the sweep, each of the four has a fourth of the values in its SQLite database. The sweep moves the values to the
    /// server. If a visitor has written a key before its value is moved, the written value stays, and the older one goes to the
    /// quarantine. So each older value must be on the server, or replaced there, or in the quarantine, and none may be lost.
    package struct SharedSweep: Sendable {
        /// The number of values that were moved.
        package private(set) var moved = 0
        /// The number of values that went to the quarantine, because a visitor had written the key before.
        package private(set) var displaced = 0
        package private(set) var reads = 0
        package private(set) var writes = 0
        /// The duration of the sweeps.
        package private(set) var seconds = 0.0
        /// A line for each broken rule.
        package private(set) var findings: [String] = []

        private static let machines = 4

        /// Fills the databases, runs the processes, and checks every value.
        /// - Parameters:
        ///   - count: The number of keys.
        ///   - seed: The seed of the visitors' choices.
        ///   - isForgetful: Whether the visitors acknowledge some writes without making them. The check must notice this.
        ///   - program: Starts this program with some words. It then runs ``move(folder:server:count:)`` for the first word
        ///     `move`, and ``SweepVisitor/run(folder:server:count:number:seed:isForgetful:)`` for `visit`.
        package init(
            count: Int, seed: UInt64, isForgetful: Bool, program: (_ words: [String]) throws -> RunningProgram
        ) async throws {
            let server = try await PrivatePostgreSQL(["max_connections=200"])
            let folder = try TemporaryDirectory()
            func machine(_ name: String) throws -> Machine {
                let machine = Machine(folder: try folder.folder(name), server: server.conninfo)
                // The first machine creates the key when it stores its first value.
                let key = folder.file("move-0/key")
                if FileManager.default.fileExists(atPath: key) {
                    try FileManager.default.copyItem(atPath: key, toPath: "\(machine.folder)/key")
                }
                return machine
            }
            var movers: [Machine] = []
            for number in 0..<Self.machines {
                movers.append(try machine("move-\(number)"))
                try await Self.fill(movers[number], number, of: count)
            }
            let visitors = try (0..<SweepVisitor.count).map { number in
                let place = try machine("visit-\(number)").folder
                let words = ["visit", place, server.conninfo, "\(count)", "\(number)", "\(seed)"]
                return try program(words + (isForgetful ? ["--forgetful"] : []))
            }
            let begin = ContinuousClock.now
            let sweeps = try movers.map { try program(["move", $0.folder, server.conninfo, "\(count)"]) }
            for sweep in sweeps { note(await sweep.end()) }
            seconds = (ContinuousClock.now - begin) / .seconds(1)
            var written: [Int: Int] = [:]
            for visitor in visitors { written.merge(note(await visitor.end())) { max($0, $1) } }
            try await check(movers, try machine("reader"), server, count, written)
        }

        // MARK: The values

        private struct Catalog: StorageKeyCatalog {
            let allKeys: [AnyStorageKey]
        }

        static func local(_ number: Int) -> StorageKey<String> {
            StorageKey(name: "key \(number)", domain: .encryptedSQLite(database: "local"))
        }

        static func shared(_ number: Int) -> StorageKey<String> {
            StorageKey(name: "key \(number)", domain: .postgreSQL(database: "main")).moved(from: local(number))
        }

        /// The value of a key. The sequence is 0 before a visitor writes the key, and grows with each write.
        static func text(_ number: Int, _ sequence: Int) -> String { "value \(number) \(sequence)" }

        private static func numbers(of machine: Int, _ count: Int) -> [Int] { Array(stride(from: machine, to: count, by: machines)) }

        private static func fill(_ machine: Machine, _ number: Int, of count: Int) async throws {
            let storage = machine.router()
            let numbers = Self.numbers(of: number, count)
            for start in stride(from: 0, to: numbers.count, by: 500) {
                let part = numbers[start..<min(start + 500, numbers.count)]
                try await storage.batch { batch in for number in part { batch.set(text(number, 0), for: local(number)) } }
            }
            try await storage.shutdown()
        }

        // MARK: The processes

        /// Moves the values of a machine. A process runs this. Prints how many values were moved and displaced.
        package static func move(folder: String, server: String, count: Int) async throws {
            let storage = Machine(folder: folder, server: server).router()
            let catalog = Catalog(allKeys: (0..<count).map { .key(shared($0)) })
            var report = try await storage.registerCatalog(catalog, migrateImmediately: true)
            var (moved, displaced) = (0, 0)
            for round in 0..<5 {
                if round > 0 { report = await storage.sweep() }
                moved += report.rows.count { $0.state == .moved }
                displaced += report.rows.count { $0.state == .resolved }
                if report.isComplete { break }
            }
            try report.requireComplete()
            say("moved \(moved)")
            say("displaced \(displaced)")
            try await storage.shutdown()
        }

        /// Adds the results of a process. Returns the last write of each key that it has written.
        @discardableResult
        private mutating func note(_ result: ProgramResult) -> [Int: Int] {
            if result.status != 0 { findings.append("a process ended with \(result.status): \(result.stderr.suffix(500))") }
            var written: [Int: Int] = [:]
            for line in result.lines {
                let words = line.split(separator: " ")
                guard words.count > 1, let number = Int(words[1]) else {
                    findings.append(line)
                    continue
                }
                switch words[0] {
                case "moved": moved += number
                case "displaced": displaced += number
                case "reads": reads += number
                case "writes": writes += number
                case "wrote": if words.count > 2, let sequence = Int(words[2]) { written[number] = sequence }
                default: findings.append(line)
                }
            }
            return written
        }

        // MARK: The check

        private mutating func check(
            _ movers: [Machine], _ other: Machine, _ server: PrivatePostgreSQL, _ count: Int, _ written: [Int: Int]
        ) async throws {
            let reader = other.router()
            findings += try await Self.wrong(Array(0..<count)) { number in
                let value = try await reader.value(for: Self.shared(number))
                return value == Self.text(number, written[number, default: 0]) ? nil : "key \(number) is \(value ?? "absent") on the server"
            }
            for (machine, mover) in movers.enumerated() {
                let storage = mover.router()
                findings += try await Self.wrong(Self.numbers(of: machine, count)) { number in
                    try await storage.value(for: Self.local(number)).map { "key \(number) is still \($0) in SQLite" }
                }
                try await storage.shutdown()
            }
            let rows = try await server.sql(
                """
                SELECT count(*) FROM localdata.records r JOIN localdata.databases d USING (context)
                WHERE encode(d.origin, 'escape') LIKE '%main%'
                """)
            if rows != ["\(count)"] { findings.append("the server has \(rows.joined()) rows instead of \(count)") }
            let kept = try await reader.quarantine.values().count
            if moved + displaced != count || kept != displaced {
                findings.append("\(moved) values were moved and \(displaced) displaced, and the quarantine has \(kept), of \(count)")
            }
            try await reader.shutdown()
        }

        /// Checks numbers with 16 tasks. Returns the findings of the check.
        private static func wrong(
            _ numbers: [Int], _ check: @escaping @Sendable (Int) async throws -> String?
        ) async throws -> [String] {
            let tasks = 16
            return try await withThrowingTaskGroup(of: [String].self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        var found: [String] = []
                        for index in stride(from: task, to: numbers.count, by: tasks) {
                            if let finding = try await check(numbers[index]) { found.append(finding) }
                        }
                        return found
                    }
                }
                var found: [String] = []
                for try await part in group { found += part }
                return found
            }
        }
    }
#endif
