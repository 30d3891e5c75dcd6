import Foundation
import LocalData

#if BENCH_SERVER
    import LocalDataPostgreSQL
#endif

/// Runs the workloads A, B, C and F of YCSB (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010) with 1 to
/// 16 tasks of one process. The records are sealed rows of a collection in encrypted SQLite, and on a PostgreSQL server.
///
/// A record has ten fields of 100 bytes, which are one value. So an update writes all fields, as in YCSB with
/// `writeallfields=true`. The read-modify-write of F is one call of `update`, which is atomic. YCSB makes two calls, so that
/// another change between them can be lost.
///
/// The choices of a task depend only on the workload, the number of tasks and the task.
struct YCSB {
    let root: URL
    let results: Results
    let isQuick: Bool

    private struct Record: Codable, Identifiable, Sendable {
        var id: String
        var fields: [String]

        init(_ number: Int, _ dice: inout SeededNumbers) {
            id = "user\(number)"
            fields = (0..<10).map { _ in Self.text(&dice) }
        }

        /// Returns one of 256 texts of 100 bytes. They exist before the measurement, which does not include their creation.
        static func text(_ dice: inout SeededNumbers) -> String { texts[Int(dice.next() & 0xFF)] }

        private static let texts: [String] = {
            var dice = SeededNumbers(seed: 1)
            return (0..<256).map { _ in
                String(decoding: (0..<100).map { _ in UInt8.random(in: 32..<127, using: &dice) }, as: UTF8.self)
            }
        }()
    }

    private enum Workload: String, CaseIterable {
        case a = "A"
        case b = "B"
        case c = "C"
        case f = "F"

        /// The percentage of reads.
        var reads: Int {
            switch self {
            case .a, .f: 50
            case .b: 95
            case .c: 100
            }
        }

        /// The operations, in words.
        var mix: String {
            switch self {
            case .a, .b: "\(reads) % read, \(100 - reads) % update"
            case .c: "read only"
            case .f: "\(reads) % read, \(100 - reads) % read-modify-write"
            }
        }
    }

    /// A store with its records.
    private struct Table: Sendable {
        let name: String
        let router: StorageRouter
        let records: StorageCollection<Record>

        init(_ name: String, _ configuration: StorageConfiguration, _ domain: StorageDomain) {
            self.name = name
            router = StorageRouter(configuration: configuration)
            records = StorageCollection("usertable", domain: domain, owner: "Bench", description: "The records of YCSB")
        }
    }

    private var count: Int { isQuick ? 1_000 : 10_000 }
    private var seconds: Double { isQuick ? 0.5 : 3 }

    func run() async throws {
        for table in tables() {
            try await fill(table)
            for workload in Workload.allCases {
                results.begin("YCSB \(workload.rawValue) (\(workload.mix)), \(table.name), \(count) records of 1,000 bytes, durable")
                for tasks in [1, 2, 4, 8, 16] {
                    let times = try await cell(table, workload, tasks: tasks)
                    results.rate("\(tasks) tasks", times.count, in: seconds)
                    results.time("\(tasks) tasks, p50", times.percentile(0.5))
                    results.time("\(tasks) tasks, p99", times.percentile(0.99))
                }
            }
            try await table.router.shutdown()
        }
    }

    private func tables() -> [Table] {
        var local = configuration(root.appendingPathComponent("sqlite"))
        local.keySource = .keyFile("bench.key")
        var tables = [Table("encrypted SQLite", local, .encryptedSQLite(database: "ycsb"))]
        #if BENCH_SERVER
            if let server = ProcessInfo.processInfo.environment["BENCH_SERVER"] {
                var shared = configuration(root.appendingPathComponent("server"))
                shared.keySource = .keyFile("bench.key")
                // Each run has a new key, so it needs new tables.
                shared.usePostgreSQL(PostgreSQLServer(server, schema: "ycsb_\(UInt32.random(in: .min ... .max))"))
                tables.append(Table("PostgreSQL", shared, .postgreSQL(database: "ycsb")))
            }
        #endif
        return tables
    }

    private func fill(_ table: Table) async throws {
        var dice = SeededNumbers(seed: 2)
        for start in stride(from: 0, to: count, by: 500) {
            let part = (start..<min(count, start + 500)).map { Record($0, &dice) }
            try await table.router.set(part, in: table.records)
        }
    }

    /// Runs a workload with a number of tasks. Returns the durations of the operations that began after a short warm-up.
    private func cell(_ table: Table, _ workload: Workload, tasks: Int) async throws -> [Double] {
        let begin = ContinuousClock.now + .milliseconds(isQuick ? 50 : 300)
        let end = begin + .seconds(seconds)
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for task in 0..<tasks {
                let seed = UInt64(workload.rawValue.utf8.first ?? 0) << 32 | UInt64(tasks) << 16 | UInt64(task)
                group.addTask { [count] in
                    var dice = SeededNumbers(seed: seed)
                    let chooser = ScrambledZipfian(records: count)
                    var times: [Double] = []
                    while true {
                        let number = chooser.record(&dice)
                        let start = ContinuousClock.now
                        if start >= end { return times }
                        try await Self.operation(table, workload, number, &dice)
                        if start >= begin { times.append((ContinuousClock.now - start).seconds) }
                    }
                }
            }
            var times: [Double] = []
            for try await part in group { times += part }
            return times
        }
    }

    private static func operation(
        _ table: Table, _ workload: Workload, _ number: Int, _ dice: inout SeededNumbers
    ) async throws {
        if Int.random(in: 0..<100, using: &dice) < workload.reads {
            _ = try await table.router.get("user\(number)", in: table.records)
        } else if workload == .f {
            let (field, text) = (Int.random(in: 0..<10, using: &dice), Record.text(&dice))
            try await table.router.update("user\(number)", in: table.records) { $0?.fields[field] = text }
        } else {
            try await table.router.set(Record(number, &dice), in: table.records)
        }
    }
}
