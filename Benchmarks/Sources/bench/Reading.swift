import Foundation
import LocalData

/// Hot gets, against what they cannot do without (a `stat` of the file, a look into a dictionary, decoding) and against Foundation's `UserDefaults`.
/// All are measured in turn.
struct Reading {
    let root: URL

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
        // A file has to be seen unchanged for a moment before it is served from memory.
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

        func show(_ title: String, _ name: String, _ peers: (String, String)...) {
            let time = times[name, default: 0]
            let ratios = peers.map { String(format: "%.2fx of %@", time / times[$0.0, default: 0], $0.1) }
            row("  " + title, String(format: "%.2f µs", time / Double(Self.count) * 1e6), ratios.joined(separator: ", "))
        }
        print("Hot get")
        show("stat + dictionary", "stat + dictionary")
        show("UserDefaults.string (does not notice other processes)", "Foundation")
        show("get of a text, memory", "memory")
        show("get of a text, user defaults, 10 keys", "10 keys", ("Foundation", "Foundation's"), ("stat + dictionary", "stat + dictionary"))
        show("get of a text, user defaults, 10,000 keys", "10,000 keys", ("10 keys", "10 keys"))
        show("get of a text, user defaults, from the main actor", "main actor", ("10 keys", "that from the pool"))
        show("get of a text, user defaults, 8 tasks", "8 tasks", ("10 keys", "one task"))
        show("JSONDecoder, five fields", "decoding")
        show("get of five fields, user defaults", "five fields", ("decoding", "the decoding alone"))
    }
}

@MainActor private func readOnMainActor(_ router: StorageRouter, _ key: StorageKey<String>, _ count: Int) async throws {
    for _ in 0..<count { _ = try await router.get(key) }
}
