import Foundation
import LocalData

/// A hot get, against what it cannot do without: one `stat` of the file and one look into a dictionary; and against Foundation's `UserDefaults`.
struct Reading {
    let root: URL

    func run() async throws {
        let count = 20_000
        let router = StorageRouter(configuration: configuration(root))
        let text = StorageKey<String>(name: "text", domain: .userDefaults, owner: "Bench", description: "A text")
        struct Window: Codable, Sendable { var x = 1.0, y = 2.0, width = 3.0, height = 4.0, title = "A window of some size" }
        let window = StorageKey<Window>(name: "window", domain: .userDefaults, owner: "Bench", description: "Five fields")
        try await router.set("abc", for: text)
        try await router.set(Window(), for: window)
        // The file has to be seen unchanged for a moment before it is served from memory.
        try await Task.sleep(for: .milliseconds(200))

        let path = root.path + "/preferences/bench.plist"
        let dictionary = ["text": "abc"]
        let floor = await median(of: 5) {
            await seconds {
                var info = stat()
                for _ in 0..<count where stat(path, &info) != 0 || dictionary["text"] == nil { fatalError("the file is gone") }
            }
        }
        let coder = try JSONEncoder().encode(Window())
        let decoding = try await median(of: 5) {
            try await seconds { for _ in 0..<count { _ = try JSONDecoder().decode(Window.self, from: coder) } }
        }
        let defaults = UserDefaults(suiteName: "localdata-bench-\(UUID().uuidString)")
        defaults?.set("abc", forKey: "text")
        let peer = await median(of: 5) { await seconds { for _ in 0..<count { _ = defaults?.string(forKey: "text") } } }
        let textTime = try await median(of: 5) { try await seconds { for _ in 0..<count { _ = try await router.get(text) } } }
        let windowTime = try await median(of: 5) { try await seconds { for _ in 0..<count { _ = try await router.get(window) } } }

        func each(_ time: Double) -> String { String(format: "%.2f µs", time / Double(count) * 1e6) }
        print("Hot get from a property list")
        row("  stat + dictionary (the floor)", each(floor))
        row("  UserDefaults.string (does not notice other processes)", each(peer))
        row("  get of a text", each(textTime), "against the floor: \(String(format: "%.1f", textTime / floor))x")
        row("  JSONDecoder, five fields", each(decoding))
        row("  get of five fields", each(windowTime), "against floor + decode: \(String(format: "%.1f", windowTime / (floor + decoding)))x")
    }
}
