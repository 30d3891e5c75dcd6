import Foundation
import LocalData

/// Compares durable sets in a property list with a durable rewrite of a file of the same size, and with a JSON file of
/// the same values. Also measures a get from a property list that another program has changed.
struct Writing {
    let root: URL
    let results: Results
    let isQuick: Bool

    private func key(_ index: Int, _ suite: String) -> StorageKey<String> {
        StorageKey(name: "key-\(index)", domain: .userDefaults(suite: suite), owner: "Bench", description: "A value")
    }

    func run() async throws {
        for count in [100, 1_000, 10_000] { try await sets(count) }
        try await foreignChange()
    }

    private func fill(_ router: StorageRouter, _ suite: String, _ count: Int) async throws {
        try await router.batch { batch in for index in 0..<count { batch.set("value", for: key(index, suite)) } }
    }

    private func sets(_ count: Int) async throws {
        let router = StorageRouter(configuration: configuration(root))
        let suite = "set-\(count)"
        try await fill(router, suite, count)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: root.path + "/preferences/\(suite).plist"))
        var number = 0
        var contest = Contest(rounds: isQuick ? 11 : 25)
        contest.add("rewrite") { try durableRewrite(root.path + "/raw", bytes) }
        let file = JSONFile(
            root.path + "/\(suite).json", Dictionary(uniqueKeysWithValues: (0..<count).map { ("key-\($0)", "value") }))
        contest.add("JSON file") {
            number += 1
            try file.set("key-3", "\(number)")
        }
        contest.add("set") {
            number += 1
            try await router.set("\(number)", for: key(3, suite))
        }
        contest.add("64 tasks") {
            number += 1
            try await withThrowingTaskGroup(of: Void.self) { [number] group in
                for index in 0..<64 { group.addTask { try await router.set("\(number)", for: key(index, suite)) } }
                try await group.waitForAll()
            }
        }
        let times = try await contest.run()
        let (rewrite, single, group) = (times["rewrite", default: 0], times["set", default: 0], times["64 tasks", default: 0])
        results.begin("Durable set in a property list of \(count) keys (fsync of the file and of its directory)")
        results.time("bare rewrite of the same bytes", rewrite, size: count)
        results.time("JSON file: encode, replace atomically, flush", times["JSON file", default: 0], size: count)
        results.time(
            "one set", single, size: count, .init("the bare rewrite", single / rewrite),
            .init("the JSON file", single / times["JSON file", default: 0]))
        results.time("64 tasks, one set each", group, .init("the rate of one task", single * 64 / group))
    }

    /// Measures a get after another program has rewritten a large property list.
    private func foreignChange() async throws {
        let (count, suite) = (isQuick ? 10_000 : 50_000, "foreign")
        let router = StorageRouter(configuration: configuration(root))
        try await fill(router, suite, count)
        let path = root.path + "/preferences/\(suite).plist"
        let file = URL(fileURLWithPath: path)
        guard var list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil) as? [String: Any] else {
            throw CocoaError(.fileReadCorruptFile)
        }
        results.begin("A list of \(count) keys that another program changed")
        for (name, format) in [("XML", PropertyListSerialization.PropertyListFormat.xml), ("binary", .binary)] {
            var (times, parses): ([Double], [Double]) = ([], [])
            for round in 0..<(isQuick ? 3 : 5) {
                list["key-1"] = "changed \(round)"
                let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
                try data.write(to: file, options: .atomic)
                parses.append(try await seconds { _ = try PropertyListSerialization.propertyList(from: data, format: nil) })
                times.append(try await seconds { _ = try await router.get(key(1, suite)) })
            }
            results.time("PropertyListSerialization, \(name)", parses.middle)
            results.time(
                "first get afterwards, \(name)", times.middle, .init("PropertyListSerialization", times.middle / parses.middle))
        }
    }
}
