import Foundation
import LocalData

/// Measures sweeps of a catalog of keys. A sweep moves the value of each key from its legacy location into another
/// store, durably and verified. Also measures sweeps that have nothing to do, and the registration of a catalog.
struct Sweeping {
    let root: URL
    let results: Results

    private struct Catalog: StorageKeyCatalog {
        let count: Int
        let source: StorageDomain
        let target: StorageDomain

        func old(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "value-\(index)", domain: source, owner: "Bench", description: "A legacy location")
        }

        var allKeys: [AnyStorageKey] {
            (0..<count).map { index in
                .key(
                    StorageKey<String>(name: "new-\(index)", domain: target, owner: "Bench", description: "A value").moved(from: old(index))
                )
            }
        }
    }

    // MARK: Moves

    func moves(sizes: [Int]) async throws {
        let (list, database) = (StorageDomain.userDefaults(suite: "legacy"), StorageDomain.encryptedSQLite(database: "legacy"))
        try await moves("a list → another list", list, .userDefaults(suite: "modern"), sizes.filter { $0 <= 10_000 })
        try await moves("a list → a database", list, .encryptedSQLite(database: "modern"), sizes.filter { $0 <= 10_000 })
        try await moves("a database → another database", database, .encryptedSQLite(database: "modern"), sizes)
    }

    private func moves(_ name: String, _ source: StorageDomain, _ target: StorageDomain, _ sizes: [Int]) async throws {
        results.begin("Sweep from \(name): durable, verified, the legacy copy removed")
        for count in sizes {
            var times: [Double] = []
            var folder = root
            for round in 0..<(count > 10_000 ? 1 : 3) {
                folder = root.appendingPathComponent("\(source.kind)-\(target.kind)-\(count)-\(round)")
                times.append(try await move(Catalog(count: count, source: source, target: target), in: folder))
            }
            guard target.kind == .encryptedSQLite else {
                results.rate("\(count) keys", count, in: times.middle, size: count)
                continue
            }
            let rows = try RowCopy(of: find("modern.sqlite", below: folder))
            func peer(_ work: (_ path: String) async throws -> Void) async throws -> Double {
                try await median(of: 3) {
                    let path = folder.appendingPathComponent("peer-\(UUID().uuidString).sqlite").path
                    return try await seconds { try await work(path) }
                }
            }
            let shuffled = rows.shuffled()
            let ascending = try await peer { try rows.write(to: $0, commits: max(1, count / 1_000)) }
            let random = try await peer { try shuffled.write(to: $0, commits: max(1, count / 1_000)) }
            let byHand = try await peer { try await SealedRows(path: $0).fill(count, "value 1000") }
            results.rate(
                "\(count) keys", count, in: times.middle, size: count,
                .init("raw SQLite writing these rows by ascending id, 1,000 keys a commit", times.middle / ascending),
                .init("raw SQLite writing them by random id", times.middle / random),
                .init("GRDB, values sealed by hand, 1,000 keys a commit", times.middle / byHand))
        }
    }

    private func move(_ catalog: Catalog, in folder: URL) async throws -> Double {
        let router = StorageRouter(configuration: configuration(folder))
        for start in stride(from: 0, to: catalog.count, by: 10_000) {
            try await router.batch { batch in
                for index in start..<min(catalog.count, start + 10_000) { batch.set("value \(index)", for: catalog.old(index)) }
            }
        }
        let time = try await seconds { try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete() }
        try await router.shutdown()
        return time
    }

    // MARK: Nothing to do

    private struct Settled: StorageKeyCatalog {
        let count: Int
        let domain: StorageDomain

        func key(_ index: Int) -> StorageKey<String> {
            let old = StorageKey<String>(
                name: "value-\(index)", domain: .userDefaults(suite: "older"), owner: "Bench", description: "Older")
            return StorageKey(name: "new-\(index)", domain: domain, owner: "Bench", description: "A value").moved(from: old)
        }

        var allKeys: [AnyStorageKey] { (0..<count).map { .key(key($0)) } }
    }

    func idle(_ count: Int) async throws {
        results.begin("Sweep with nothing to do, \(count) keys")
        try await idle("a list", .userDefaults(suite: "modern"), count)
        try await idle("a database", .encryptedSQLite(database: "modern"), count)
    }

    private func idle(_ name: String, _ domain: StorageDomain, _ count: Int) async throws {
        let folder = root.appendingPathComponent("idle-\(domain.kind)")
        let catalog = Settled(count: count, domain: domain)
        let router = StorageRouter(configuration: configuration(folder))
        for start in stride(from: 0, to: count, by: 10_000) {
            try await router.batch { batch in
                for index in start..<min(count, start + 10_000) { batch.set("value \(index)", for: catalog.key(index)) }
            }
        }
        try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete()
        let time = await median(of: 3) { await seconds { _ = await router.sweep() } }
        results.time(name, time)
        try await router.shutdown()
    }

    // MARK: Registration

    func registration() async throws {
        let count = 10_000
        let catalog = Settled(count: count, domain: .userDefaults(suite: "modern"))
        let keys = catalog.allKeys
        struct Made: StorageKeyCatalog { let allKeys: [AnyStorageKey] }
        let time = try await median(of: 5) {
            let router = StorageRouter(configuration: configuration(root.appendingPathComponent("registration")))
            return try await seconds { try await router.registerCatalog(Made(allKeys: keys)) }
        }
        results.begin("Registration of a catalog")
        results.time("\(count) keys with a legacy location each", time)
    }
}
