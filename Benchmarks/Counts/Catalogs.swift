import Foundation
import LocalData

/// Sweeps and registrations of a catalog whose keys have a legacy location each.
struct Catalogs {
    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    let folder: URL

    init(_ folder: URL) { self.folder = folder }

    private func older(_ index: Int) -> StorageKey<String> {
        StorageKey(name: "value-\(index)", domain: .userDefaults(suite: "older"), owner: "Counts", description: "A value")
    }

    private func key(_ index: Int, _ domain: StorageDomain) -> StorageKey<String> {
        StorageKey(name: "new-\(index)", domain: domain, owner: "Counts", description: "A value").moved(from: older(index))
    }

    private func catalog(_ count: Int, _ domain: StorageDomain = .encryptedSQLite(database: "counts")) -> Catalog {
        Catalog(allKeys: (0..<count).map { .key(key($0, domain)) })
    }

    /// From a property list into a database: durable, verified, the older copy removed.
    func sweep() async throws {
        let count = 200
        let catalog = catalog(count)
        try await sweep(catalog, in: folder.appendingPathComponent("warm"), measured: false)
        try await sweep(catalog, in: folder.appendingPathComponent("real"), measured: true)
    }

    private func sweep(_ catalog: Catalog, in folder: URL, measured: Bool) async throws {
        let router = StorageRouter(configuration: configuration(folder))
        let count = catalog.allKeys.count
        try await router.batch { batch in for index in 0..<count { batch.set("value \(index)", for: older(index)) } }
        func work() async throws { try await router.registerCatalog(catalog, migrateImmediately: true).requireComplete() }
        if measured { try await measure(count, work) } else { try await work() }
        try await router.shutdown()
    }

    /// With nothing left to do.
    func sweepIdle() async throws {
        let count = 1_000
        let router = StorageRouter(configuration: configuration(folder))
        let domain = StorageDomain.encryptedSQLite(database: "counts")
        try await router.batch { batch in for index in 0..<count { batch.set("value \(index)", for: key(index, domain)) } }
        try await router.registerCatalog(catalog(count), migrateImmediately: true).requireComplete()
        for _ in 0..<2 { try await router.sweep().requireComplete() }
        try await measure(count) { try await router.sweep().requireComplete() }
        try await router.shutdown()
    }

    func register() async throws {
        let catalog = catalog(1_000, .userDefaults(suite: "modern"))
        let routers = (0..<3).map { _ in StorageRouter(configuration: configuration(folder)) }
        for router in routers.dropLast() { _ = try await router.registerCatalog(catalog) }
        try await measure(1_000) { _ = try await routers[2].registerCatalog(catalog) }
        for router in routers { try await router.shutdown() }
    }
}
