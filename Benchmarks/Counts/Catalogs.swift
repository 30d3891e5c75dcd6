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

    /// The number of keys that are swept before the measurement.
    private static let first = 128

    /// A sweep from a property list into a database. Each value is written durably, verified, and removed from its
    /// legacy location.
    ///
    /// Another catalog is swept before the measurement, so that the database has already opened its connections for
    /// reading. The number of these connections differs from run to run, so opening them must not be counted.
    func sweep() async throws {
        let count = 384
        let router = StorageRouter(configuration: configuration(folder))
        try await fillList(for: count, router)
        try await sweep(count, router)
    }

    /// A sweep from a list that another process has filled.
    func sweepFilled(_ count: Int) async throws {
        try await sweep(count, StorageRouter(configuration: configuration(folder)))
    }

    /// Fills the list for a sweep of some keys.
    func fillList(for count: Int) async throws {
        let router = StorageRouter(configuration: configuration(folder))
        try await fillList(for: count, router)
        try await router.shutdown()
    }

    private func fillList(for count: Int, _ router: StorageRouter) async throws {
        try await router.batch { batch in for index in 0..<Self.first + count { batch.set("value \(index)", for: older(index)) } }
    }

    private func sweep(_ count: Int, _ router: StorageRouter) async throws {
        let (warmUp, measured) = (catalog("first", 0..<Self.first), catalog("second", Self.first..<Self.first + count))
        try await router.registerCatalog(warmUp, migrateImmediately: true).requireComplete()
        try await measure(count) { try await router.registerCatalog(measured, migrateImmediately: true).requireComplete() }
        try await router.shutdown()
    }

    /// Sweeps a catalog of many keys from one database into another one, for the operations that come after a sweep.
    func prepare(_ count: Int) async throws {
        let router = StorageRouter(configuration: configuration(folder))
        @Sendable func older(_ index: Int) -> StorageKey<String> {
            StorageKey(name: "value-\(index)", domain: .encryptedSQLite(database: "older"), owner: "Counts", description: "A value")
        }
        for start in stride(from: 0, to: count, by: 1_000) {
            try await router.batch { batch in
                for index in start..<min(start + 1_000, count) { batch.set("value \(index)", for: older(index)) }
            }
        }
        let keys = (0..<count).map { index in
            AnyStorageKey.key(
                StorageKey<String>(
                    name: "swept-\(index)", domain: .encryptedSQLite(database: "counts"), owner: "Counts", description: "A value"
                ).moved(from: older(index)))
        }
        try await router.registerCatalog(Catalog(id: "swept", allKeys: keys), migrateImmediately: true).requireComplete()
        try await router.shutdown()
    }

    /// Opens the database in a new router and gets a value, as a short-lived program does after a sweep.
    func openAfterSweep() async throws {
        let key = StorageKey<String>(
            name: "swept-7", domain: .encryptedSQLite(database: "counts"), owner: "Counts", description: "A value")
        func openAndGet() async throws -> StorageRouter {
            let router = StorageRouter(configuration: configuration(folder))
            _ = try await router.get(key)
            return router
        }
        for _ in 0..<3 { try await openAndGet().shutdown() }
        var opened: [StorageRouter] = []
        try await measure(20) { for _ in 0..<20 { opened.append(try await openAndGet()) } }
        for router in opened { try await router.shutdown() }
    }

    /// Gets that move one value each from a short list.
    func getMigrating() async throws {
        let count = 40
        let router = StorageRouter(configuration: configuration(folder))
        try await router.batch { batch in for index in 0..<count { batch.set("value \(index)", for: older(index)) } }
        let domain = StorageDomain.encryptedSQLite(database: "counts")
        for index in 0..<count / 2 { _ = try await router.get(key(index, domain)) }
        try await measure(count / 2) { for index in count / 2..<count { _ = try await router.get(key(index, domain)) } }
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
