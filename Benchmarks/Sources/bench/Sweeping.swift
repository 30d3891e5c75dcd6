import Foundation
import LocalData

/// A sweep of values from one property list to another, durably: what a key costs, by the number of keys.
struct Sweeping {
    let root: URL

    struct Catalog: StorageKeyCatalog {
        let count: Int
        var allKeys: [AnyStorageKey] {
            (0..<count).map { index in
                let old = StorageKey<String>(
                    name: "old-\(index)", domain: .userDefaults(suite: "legacy"), owner: "Bench", description: "An older place")
                return .key(
                    StorageKey<String>(name: "new-\(index)", domain: .userDefaults(suite: "modern"), owner: "Bench", description: "A value")
                        .moved(from: old))
            }
        }
    }

    func run() async throws {
        print("Sweep between two property lists (durable, verified, the older copy removed)")
        var first: Double?
        for count in [100, 1_000, 10_000] {
            var round = 0
            let time = try await median(of: count < 10_000 ? 5 : 3) {
                round += 1
                let root = root.appendingPathComponent("\(count)-\(round)")
                try FileManager.default.createDirectory(at: root.appendingPathComponent("preferences"), withIntermediateDirectories: true)
                let old = Dictionary(uniqueKeysWithValues: (0..<count).map { ("old-\($0)", "value \($0)") })
                try PropertyListSerialization.data(fromPropertyList: old, format: .xml, options: 0)
                    .write(to: root.appendingPathComponent("preferences/legacy.plist"))
                let router = StorageRouter(configuration: configuration(root))
                return try await seconds {
                    try await router.registerCatalog(Catalog(count: count), migrateImmediately: true).requireComplete()
                }
            }
            let each = time / Double(count)
            row(
                "  \(count) keys", "\(Int(1 / each)) keys/s",
                "cost of a key, against 100 keys: \(String(format: "%.2f", each / (first ?? each)))x")
            first = first ?? each
        }
    }
}
