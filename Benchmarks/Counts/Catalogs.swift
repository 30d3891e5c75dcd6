import Foundation
import LocalData

/// Measures sweeps and registrations of a catalog, which is a list of keys. A sweep migrates the values of all keys.
/// Each key has one legacy location, where an earlier version stored its value.
struct Catalogs {
    private struct Catalog: StorageKeyCatalog {
        let id: String
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

    private func catalog(_ id: String, _ indices: Range<Int>, _ domain: StorageDomain = .encryptedSQLite(database: "counts")) -> Catalog {
        Catalog(id: id, allKeys: indices.map { .key(key($0, domain)) })
    }

    /// A sweep from a property list into a database. Each value is written durably, verified, and removed from its
    /// legacy location.
    ///
    /// Another catalog is swept before the measurement, so that the database has already opened its connections for
    /// reading. The number of these connections differs from run to run, so opening them must not be counted.
    func sweep() async throws {
        let (first, count) = (128, 384)
        let router = StorageRouter(configuration: configuration(folder))
        try await router.batch { batch in for index in 0..<first + count { batch.set("value \(index)", for: older(index)) } }
        let (warmUp, measured) = (catalog("first", 0..<first), catalog("second", first..<first + count))
        try await router.registerCatalog(warmUp, migrateImmediately: true).requireComplete()
        try await measure(count) { try await router.registerCatalog(measured, migrateImmediately: true).requireComplete() }
        try await router.shutdown()
    }

    /// A sweep that has nothing to do, because every value is already at its destination.
    func sweepIdle() async throws {
        let count = 1_000
        let router = StorageRouter(configuration: configuration(folder))
        let domain = StorageDomain.encryptedSQLite(database: "counts")
        try await router.batch { batch in for index in 0..<count { batch.set("value \(index)", for: key(index, domain)) } }
        try await router.registerCatalog(catalog("settled", 0..<count), migrateImmediately: true).requireComplete()
        for _ in 0..<2 { try await router.sweep().requireComplete() }
        try await measure(count) { try await router.sweep().requireComplete() }
        try await router.shutdown()
    }

    func register() async throws {
        let catalog = catalog("keys", 0..<1_000, .userDefaults(suite: "modern"))
        let routers = (0..<3).map { _ in StorageRouter(configuration: configuration(folder)) }
        for router in routers.dropLast() { _ = try await router.registerCatalog(catalog) }
        try await measure(1_000) { _ = try await routers[2].registerCatalog(catalog) }
        for router in routers { try await router.shutdown() }
    }
}
