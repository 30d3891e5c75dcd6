#if PostgreSQL && os(Linux)
    import Foundation
    import Glibc
    import LocalData
    import LocalDataPostgreSQL
    import Synchronization
    import TestSupport

    /// Writes and reads values on several servers while they fail over. `Proof/Failover/rounds.py` runs this, and says
    /// what the ledger is. `plain.py` makes the same calls without LocalData.
    package struct FailoverLoad: Sendable {
        private static let tasks = 8

        private let server: String
        private let ledger: String
        private let isOver = Shared(false)

        /// Creates a load.
        /// - Parameters:
        ///   - server: The connection string, with all hosts.
        ///   - ledger: The path of the ledger. The key of the values is in the same folder.
        package init(server: String, ledger: String) { (self.server, self.ledger) = (server, ledger) }

        /// Sets, replaces and removes values until the standard input ends.
        /// - Parameter name: The names of the values begin with this.
        package func write(_ name: String) async throws {
            // Half of the tasks give up before another server is the primary.
            let machines = try [machine("impatient", .seconds(3)), machine("patient", .seconds(20))]
            // One machine creates the key before the other one needs it.
            try await machines[1].set("", for: key("start"))
            let answers = try Answers(ledger)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<Self.tasks {
                    group.addTask { try await run("\(name).\(task)", machines[task % machines.count], answers) }
                }
                try await offPool { while readLine() != nil {} }
                isOver.value.withLock { $0 = true }
                try await group.waitForAll()
            }
            for machine in machines { try await machine.shutdown() }
        }

        /// Reads the value of each key in the ledger, and writes a line for each.
        /// - Parameter content: The path of the file to write.
        package func read(into content: String) async throws {
            let lines = try String(contentsOfFile: ledger, encoding: .utf8).split(separator: "\n")
            let names = Set(lines.map { String($0.split(separator: " ")[3]) }).sorted()
            let storage = try machine("reader", .seconds(30))
            // Otherwise a missing value is an error after a failover. The judge counts what is missing.
            try await storage.acceptFailover()
            let found = try await withThrowingTaskGroup(of: [String].self) { group in
                for task in 0..<Self.tasks {
                    group.addTask {
                        var found: [String] = []
                        for index in stride(from: task, to: names.count, by: Self.tasks) {
                            let value = try await storage.value(for: key(names[index])) ?? "absent"
                            found.append("\(names[index]) \(value)\n")
                        }
                        return found
                    }
                }
                return try await group.reduce(into: [String]()) { $0 += $1 }
            }
            try found.joined().write(toFile: content, atomically: true, encoding: .utf8)
            try await storage.shutdown()
        }

        private func key(_ name: String) -> StorageKey<String> {
            StorageKey(name: name, domain: .postgreSQL(database: "failover"))
        }

        private func machine(_ name: String, _ deadline: Duration) throws -> StorageRouter {
            let root = URL(filePath: "\(ledger).\(name)")
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
            var configuration = StorageConfiguration(root: root, applicationID: "com.example.failover")
            configuration.keySource = .keyFile(URL(filePath: ledger).deletingLastPathComponent().appending(path: "key").path)
            configuration.usePostgreSQL(PostgreSQLServer(server, deadline: deadline))
            return StorageRouter(configuration: configuration)
        }

        // MARK: The calls of a task

        private func run(_ name: String, _ storage: StorageRouter, _ answers: Answers) async throws {
            var count = 0
            while !isOver.value.withLock(\.self) {
                try await set("first-\(count)", "\(name).\(count)", storage, answers)
                if count % 4 == 3 {
                    try await set("second-\(count)", "\(name).\(count - 1)", storage, answers)
                    let removed = "\(name).\(count - 2)"
                    let outcome = try await result(storage) { try await storage.remove(key(removed)) }
                    try answers.note(outcome, "remove", removed, "absent")
                }
                let earlier = "\(name).\(Int.random(in: 0...count))"
                let value = Shared("absent")
                let outcome = try await result(storage) {
                    let found = try await storage.value(for: key(earlier)) ?? "absent"
                    value.value.withLock { $0 = found }
                }
                try answers.note(outcome, "read", earlier, value.value.withLock(\.self))
                count += 1
                // The servers share the machine with the load.
                try await Task.sleep(for: .milliseconds(10))
            }
        }

        private func set(_ value: String, _ name: String, _ storage: StorageRouter, _ answers: Answers) async throws {
            let outcome = try await result(storage) { try await storage.set(value, for: key(name)) }
            try answers.note(outcome, "set", name, value)
        }

        /// Makes a call, and returns its outcome as the ledger names it.
        private func result(_ storage: StorageRouter, _ call: () async throws -> Void) async throws -> String {
            do { try await call() } catch let error as StorageError {
                if error.code == StorageError.rolledBack {
                    // The load goes on without the lost changes. If this fails, the next call notices the loss again.
                    try? await storage.acceptFailover()
                    return "noticed"
                }
                return switch error.outcome {
                case .applied: "done"
                case .notApplied: "failed"
                case .unknown: "unknown"
                }
            }
            return "done"
        }
    }

    /// The ledger: a line for each call. An acknowledged change is durable there before the next call of its task.
    private struct Answers: Sendable {
        private let file: Int32

        init(_ path: String) throws {
            file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw ProgramFailure("The ledger cannot be opened: \(path)") }
        }

        func note(_ outcome: String, _ verb: String, _ key: String, _ value: String) throws {
            let line = Array("\(ServerHistory.now() / 1_000_000) \(outcome) \(verb) \(key) \(value)\n".utf8)
            guard Glibc.write(file, line, line.count) == line.count, verb == "read" || outcome != "done" || fdatasync(file) == 0 else {
                throw ProgramFailure("The ledger cannot be written.")
            }
        }
    }
#endif
