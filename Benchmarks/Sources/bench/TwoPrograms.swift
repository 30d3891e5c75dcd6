import Foundation
import LocalData

/// Measures how long a sweep of one catalog takes: once by one process, and once by two processes at the same time. A
/// sweep moves the value of each key from its legacy location to its present store.
struct TwoPrograms {
    let root: URL
    let results: Results
    let rounds: Int

    /// The number of keys in the catalog.
    static let count = 302

    private struct Catalog: StorageKeyCatalog {
        static func old(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "old-\(index)", domain: .userDefaults(suite: "legacy"), owner: "Bench", description: "A legacy location")
        }

        let allKeys: [AnyStorageKey] = (0..<TwoPrograms.count).map { index in
            .key(
                StorageKey<String>(
                    name: "new-\(index)", domain: .encryptedSQLite(database: "modern"), owner: "Bench", description: "A value"
                )
                .moved(from: Self.old(index)))
        }
    }

    /// Does the work of one process: reports that it is ready, waits until its standard input ends, sweeps, and prints
    /// the seconds that the sweep took.
    static func work(in folder: URL) async throws {
        let router = StorageRouter(configuration: configuration(folder))
        try await router.registerCatalog(Catalog())
        FileHandle.standardOutput.write(Data("ready\n".utf8))
        _ = readLine()
        let time = try await seconds {
            // A key that the other process is moving may need another sweep.
            while try await !router.registerCatalog(Catalog(), migrateImmediately: true).isComplete {}
        }
        print(time)
        try await router.shutdown()
    }

    func run() async throws {
        results.begin("Sweep of \(Self.count) keys from a list into a database by processes at once")
        var (alone, together): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            alone.append(try await sweep(1, root.appendingPathComponent("alone-\(round)")))
            together.append(try await sweep(2, root.appendingPathComponent("together-\(round)")))
        }
        results.time("one", alone.middle)
        results.time("two, the slower one", together.middle, .init("one alone", together.middle / alone.middle))
    }

    private func sweep(_ processes: Int, _ folder: URL) async throws -> Double {
        let router = StorageRouter(configuration: configuration(folder))
        try await router.batch { batch in for index in 0..<Self.count { batch.set("value \(index)", for: Catalog.old(index)) } }
        try await router.shutdown()
        let workers = try (0..<processes).map { _ in
            let worker = (process: thisProgram(["sweep-once", folder.path]), input: Pipe(), output: Pipe())
            (worker.process.standardInput, worker.process.standardOutput) = (worker.input, worker.output)
            try worker.process.run()
            return worker
        }
        for worker in workers { _ = worker.output.fileHandleForReading.availableData }
        for worker in workers { try worker.input.fileHandleForWriting.close() }
        return workers.map { worker in
            let text = String(decoding: worker.output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            worker.process.waitUntilExit()
            return Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? .infinity
        }.max() ?? .infinity
    }
}
