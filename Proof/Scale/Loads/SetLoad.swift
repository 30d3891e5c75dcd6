#if PostgreSQL && os(Linux)
    import Foundation
    import LocalData
    import LocalDataPostgreSQL

    /// A process that replaces values on a server with several tasks. `Proof/Scale/sets.py` runs several of them at once.
    package enum SetLoad {
        private static let keys = 1_000
        /// The time before the measurement in which the tasks make calls already.
        private static let warmUp = Duration.seconds(1)

        /// Stores the first values, prints `ready`, and waits for the line `go`. Then replaces values for some seconds, and prints
        /// the number of sets, the median and the 99th percentile of their durations in microseconds.
        /// - Parameters:
        ///   - folder: The folder of the machine.
        ///   - server: The connection string.
        ///   - name: The prefix of the keys. Processes with different names do not use the same rows.
        package static func run(folder: String, server: String, name: String, tasks: Int, seconds: Double) async throws {
            let storage = Machine(folder: folder, server: server).router()
            let keys = (0..<Self.keys).map { StorageKey<String>(name: "\(name) \($0)", domain: .postgreSQL(database: "sets")) }
            let value = String(repeating: "x", count: 100)
            for start in stride(from: 0, to: keys.count, by: 500) {
                try await storage.batch { batch in for key in keys[start..<start + 500] { batch.set(value, for: key) } }
            }
            say("ready")
            guard readLine() == "go" else { return }
            let begin = ContinuousClock.now + warmUp
            let end = begin + .seconds(seconds)
            var latencies = Latencies()
            try await withThrowingTaskGroup(of: Latencies.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        var (latencies, number) = (Latencies(), task)
                        while true {
                            let start = ContinuousClock.now
                            if start >= end { return latencies }
                            try await storage.set(value, for: keys[number % keys.count])
                            let done = ContinuousClock.now
                            if done >= begin, done < end { latencies.add(done - start) }
                            number += tasks
                        }
                    }
                }
                for try await part in group { latencies.add(part) }
            }
            say("sets \(latencies.count) \(latencies.percentile(0.5)) \(latencies.percentile(0.99))")
            try await storage.shutdown()
        }
    }
#endif
