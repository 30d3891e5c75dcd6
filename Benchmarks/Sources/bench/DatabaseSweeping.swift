import Foundation
import LocalData

/// A sweep of values into a database, from another database and from a property list.
struct DatabaseSweeping {
    let root: URL

    struct Catalog: StorageKeyCatalog {
        let count: Int
        let source: StorageDomain
        var allKeys: [AnyStorageKey] {
            (0..<count).map { index in
                let old = StorageKey<String>(name: "value-\(index)", domain: source, owner: "Bench", description: "An older place")
                return .key(
                    StorageKey<String>(
                        name: "value-\(index)", domain: .encryptedSQLite(database: "modern"), owner: "Bench", description: "A value"
                    )
                    .moved(from: old))
            }
        }
    }

    func run() async throws {
        for (name, source, sizes) in [
            ("another database", StorageDomain.encryptedSQLite(database: "legacy"), [1_000, 10_000, 100_000]),
            ("a property list", .userDefaults(suite: "legacy"), [1_000, 10_000]),
        ] {
            print("Sweep from \(name) into a database (durable, verified, the older copy removed)")
            var first: Double?
            for count in sizes {
                var round = 0
                let time = try await median(of: count > 10_000 ? 1 : 3) {
                    round += 1
                    let root = root.appendingPathComponent("\(source.kind)-\(count)-\(round)")
                    let router = StorageRouter(configuration: configuration(root))
                    for start in stride(from: 0, to: count, by: 10_000) {
                        try await router.batch { batch in
                            for index in start..<min(count, start + 10_000) {
                                batch.set(
                                    "value \(index)",
                                    for: StorageKey<String>(
                                        name: "value-\(index)", domain: source, owner: "Bench", description: "An older place"))
                            }
                        }
                    }
                    return try await seconds {
                        try await router.registerCatalog(Catalog(count: count, source: source), migrateImmediately: true).requireComplete()
                    }
                }
                let each = time / Double(count)
                row(
                    "  \(count) keys", "\(Int(1 / each)) keys/s",
                    "cost of a key, against 1,000 keys: \(String(format: "%.2f", each / (first ?? each)))x")
                first = first ?? each
            }
        }
    }
}
