import CAllocations
import Foundation
import LocalData

/// Compares hot gets, which find the value in memory, with the work that they cannot avoid: a `stat` of the file, a
/// lookup in a dictionary, and decoding. Also compares them with Foundation's `UserDefaults`. Each round measures all
/// of them.
struct Reading {
    let root: URL
    let results: Results

    private struct Window: Codable, Sendable { var x = 1.0, y = 2.0, width = 3.0, height = 4.0, title = "A window of some size" }

    private static let count = 20_000
    private static let tasks = 8

    private func text(_ name: String = "text", suite: String? = nil) -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: suite), owner: "Bench", description: "A text")
    }

    func run() async throws {
        let router = StorageRouter(configuration: configuration(root))
        let memory = StorageRouter(configuration: .inMemory())
        let (small, large, volatile) = (text(), text("text-5000", suite: "large"), text("volatile"))
        let window = StorageKey<Window>(name: "window", domain: .userDefaults, owner: "Bench", description: "Five fields")
        for number in 0..<8 { try await router.set("abc", for: text("text-\(number)")) }
        try await router.set("abc", for: small)
        try await router.set(Window(), for: window)
        try await router.batch { batch in for number in 0..<10_000 { batch.set("abc", for: text("text-\(number)", suite: "large")) } }
        try await memory.set("abc", for: volatile)
        // The library serves a property list from memory only after its file has been unchanged for a short time. So
        // read each value once, and wait before the measurement.
        for key in [small, large] { _ = try await router.get(key) }
        try await Task.sleep(for: .milliseconds(200))

        let (path, dictionary) = (root.path + "/preferences/bench.plist", ["text": "abc"])
        let encoded = try JSONEncoder().encode(Window())
        let name = "localdata-bench-\(UUID().uuidString)"
        guard let defaults = UserDefaults(suiteName: name) else { fatalError("no defaults") }
        defer { defaults.removePersistentDomain(forName: name) }
        defaults.set("abc", forKey: "text")

        var contest = Contest(rounds: 9)
        contest.add("stat + dictionary") {
            for _ in 0..<Self.count {
                var info = stat()
                guard stat(path, &info) == 0, dictionary["text"] != nil else { fatalError("the file is gone") }
            }
        }
        contest.add("Foundation") { for _ in 0..<Self.count { _ = defaults.string(forKey: "text") } }
        contest.add("memory") { for _ in 0..<Self.count { _ = try await memory.get(volatile) } }
        contest.add("10 keys") { for _ in 0..<Self.count { _ = try await router.get(small) } }
        contest.add("10,000 keys") { for _ in 0..<Self.count { _ = try await router.get(large) } }
        contest.add("main actor") { try await readOnMainActor(router, small, Self.count) }
        contest.add("8 tasks") {
            try await withThrowingTaskGroup { group in
                for _ in 0..<Self.tasks {
                    group.addTask { for _ in 0..<Self.count / Self.tasks { _ = try await router.get(small) } }
                }
                try await group.waitForAll()
            }
        }
        contest.add("decoding") { for _ in 0..<Self.count { _ = try JSONDecoder().decode(Window.self, from: encoded) } }
        contest.add("five fields") { for _ in 0..<Self.count { _ = try await router.get(window) } }
        let times = try await contest.run()

        func time(_ name: String) -> Double { times[name, default: 0] }
        func ratio(_ name: String, _ peer: String) -> Double { time(name) / time(peer) }
        results.begin("Hot get")
        results.time("stat + dictionary", time("stat + dictionary"), each: Self.count)
        results.time("UserDefaults.string (does not notice other processes)", time("Foundation"), each: Self.count)
        results.time("get of a text, memory", time("memory"), each: Self.count)
        results.time(
            "get of a text, user defaults, 10 keys", time("10 keys"), each: Self.count, size: 10,
            .init("Foundation's", ratio("10 keys", "Foundation")),
            .init("stat + dictionary", ratio("10 keys", "stat + dictionary"), .atMost(1.2)))
        results.time(
            "get of a text, user defaults, 10,000 keys", time("10,000 keys"), each: Self.count, size: 10_000,
            .init("that with 10 keys", ratio("10,000 keys", "10 keys")))
        results.time(
            "get of a text, user defaults, from the main actor", time("main actor"), each: Self.count,
            .init("that from the pool", ratio("main actor", "10 keys")))
        results.time(
            "get of a text, user defaults, 8 tasks", time("8 tasks"), each: Self.count,
            .init("the rate of one task", ratio("10 keys", "8 tasks")))
        results.time("JSONDecoder, five fields", time("decoding"), each: Self.count)
        results.time(
            "get of five fields, user defaults", time("five fields"), each: Self.count,
            .init("the decoding alone", ratio("five fields", "decoding")))

        var single: [Double] = []
        for _ in 0..<5_000 { single.append(try await seconds { _ = try await router.get(small) }) }
        results.histogram("get of a text, user defaults", single)
        try await allocations([("memory", memory, volatile), ("user defaults", router, small)], sealed: router)
    }

    /// Measures the number of allocations of one get.
    private func allocations(_ texts: [(String, StorageRouter, StorageKey<String>)], sealed: StorageRouter) async throws {
        results.begin("Allocations of a hot get")
        let count = 1_000
        for (name, router, key) in texts {
            let before = bench_allocations()
            for _ in 0..<count { _ = try await router.get(key) }
            results.number("a text, \(name)", Double(bench_allocations() - before) / Double(count), "allocations")
        }
        let note = StorageKey<Data>(
            name: "data", domain: .encryptedSQLite(database: "bench"), owner: "Bench", description: "A hundred bytes")
        try await sealed.set(Data(count: 100), for: note)
        for _ in 0..<10 { _ = try await sealed.get(note) }
        let before = bench_allocations()
        for _ in 0..<count { _ = try await sealed.get(note) }
        results.number("100 bytes, encrypted SQLite", Double(bench_allocations() - before) / Double(count), "allocations")
    }
}

@MainActor private func readOnMainActor(_ router: StorageRouter, _ key: StorageKey<String>, _ count: Int) async throws {
    for _ in 0..<count { _ = try await router.get(key) }
}
