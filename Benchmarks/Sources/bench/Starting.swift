import Foundation
import LocalData

/// Measures how long a short program takes from its start to its end: it registers and sweeps 100 keys whose values were
/// moved before, and gets one value. It also does so after 10,000 other values were moved in the same stores. Beside it, a
/// program that reads 100 keys with Foundation's UserDefaults, and one that does nothing.
struct Starting {
    let root: URL
    let results: Results
    let rounds: Int

    static let count = 100
    /// The number of other values that were moved before, in the larger store.
    private static let others = 10_000

    private struct Catalog: StorageKeyCatalog {
        static func key(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "new-\(index)", domain: .encryptedSQLite(database: "modern"), owner: "Bench", description: "A value")
        }

        static func old(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "old-\(index)", domain: .userDefaults(suite: "legacy"), owner: "Bench", description: "A legacy location")
        }

        let allKeys: [AnyStorageKey]

        init(_ indices: Range<Int> = 0..<Starting.count) {
            allKeys = indices.map { .key(Self.key($0).moved(from: Self.old($0))) }
        }
    }

    /// Does the work of one program.
    /// - Parameter arguments: The kind of the work, and its folder or suite.
    static func work(_ arguments: [String]) async throws {
        switch arguments[0] {
        case "localdata":
            let router = StorageRouter(configuration: configuration(URL(fileURLWithPath: arguments[1])))
            try await router.registerCatalog(Catalog(), migrateImmediately: true).requireComplete()
            guard try await router.get(Catalog.key(7)) == "value 7" else { fatalError("The value is wrong.") }
            try await router.shutdown()
        case "Foundation":
            guard let defaults = UserDefaults(suiteName: arguments[1]) else { fatalError("There is no suite.") }
            for index in 0..<count where defaults.string(forKey: "old-\(index)") != "value \(index)" { fatalError("The value is wrong.") }
        default: break
        }
    }

    func run() async throws {
        let (small, large) = (root.appendingPathComponent("values"), root.appendingPathComponent("more-values"))
        try await move(0..<Self.count, in: small)
        try await move(Self.count..<Self.count + Self.others, in: large)
        try await move(0..<Self.count, in: large)
        // Foundation keeps its suites in the home folder, whatever folder is given.
        let suite = "localdata-bench-\(UUID().uuidString)"
        guard let defaults = UserDefaults(suiteName: suite) else { fatalError("There is no suite.") }
        for index in 0..<Self.count { defaults.set("value \(index)", forKey: "old-\(index)") }
        defaults.synchronize()
        defer { defaults.removePersistentDomain(forName: suite) }

        let kinds = [
            ("nothing", "nothing", ""), ("Foundation", "Foundation", suite), ("localdata", "localdata", small.path),
            ("localdata, large", "localdata", large.path),
        ]
        var times: [String: [Double]] = [:]
        for _ in 0..<rounds {
            for (name, kind, place) in kinds { times[name, default: []].append(try await program(kind, place)) }
        }
        let medians = times.mapValues(\.middle)
        func median(_ kind: String) -> Double { medians[kind, default: 0] }
        results.begin("A program from its start to its end, \(Self.count) keys in encrypted SQLite that were moved before")
        results.time("a program that does nothing", median("nothing"))
        results.time("Foundation's UserDefaults reads \(Self.count) keys", median("Foundation"))
        for (name, kind) in [("register, sweep and get", "localdata"), ("the same after \(Self.others) other moves", "localdata, large")] {
            results.time(
                name, median(kind), goal: .atMost(20_000),
                .init("Foundation reading as many keys", median(kind) / median("Foundation")))
        }
    }

    private func move(_ indices: Range<Int>, in folder: URL) async throws {
        let router = StorageRouter(configuration: configuration(folder))
        try await router.batch { batch in for index in indices { batch.set("value \(index)", for: Catalog.old(index)) } }
        try await router.registerCatalog(Catalog(indices), migrateImmediately: true).requireComplete()
        try await router.shutdown()
    }

    /// Runs a program.
    /// - Returns: The seconds from its start to its end.
    private func program(_ kind: String, _ place: String) async throws -> Double {
        let process = thisProgram(["start-once", kind, place])
        let time = try await seconds {
            try process.run()
            process.waitUntilExit()
        }
        guard process.terminationStatus == 0 else { fatalError("The program \(kind) failed.") }
        return time
    }
}
