import BackendContract
import LocalData
import LocalDataCaches
import MemoryBackend
import TestSupport

/// A record in the caches of these tests.
struct CachedPage: Codable, Sendable, Equatable, Identifiable {
    var id: String
    var text = ""

    /// Creates a page with a text of a given length.
    init(_ id: String, length: Int) { (self.id, text) = (id, String(repeating: "a", count: length)) }

    init(id: String, text: String = "") { (self.id, self.text) = (id, text) }
}

/// Caches in memory. Each call of ``launch()`` is another process over the same store.
struct CacheBench {
    var configuration = StorageConfiguration.inMemory()
    var collection = StorageCollection<CachedPage>(
        "pages", domain: .encryptedSQLite(database: "web"), owner: "Tests", description: "Pages of a server")

    func launch() -> StorageRouter { StorageRouter(configuration: configuration) }

    func cache(
        _ limit: CacheLimit, _ policy: CachePolicy = .leastRecentlyUsed, in storage: StorageRouter? = nil
    ) throws -> StorageCache<CachedPage> {
        try collection.cache(limit: limit, policy: policy, storage: storage ?? launch())
    }

    /// Returns the size of a page whose id has three characters and whose text is empty.
    static func overhead() async throws -> Int {
        let cache = try CacheBench().cache(.count(1))
        try await cache.set(CachedPage(id: "000"))
        return try await cache.statistics.bytes
    }

    /// Returns an id of three digits.
    static func id(_ number: Int) -> String { String(String(1_000 + number).dropFirst()) }

    /// Returns the address of a value in the store.
    static func address(_ id: String) -> StorageAddress { StorageAddress(id, in: StorageNamespace("collection:pages")) }

    /// The store of the cache.
    func store(_ storage: StorageRouter) throws -> InMemoryStore {
        try storage.store(of: .cache("web"), as: InMemoryStore.self, otherwise: "It is not in memory.")
    }

    /// Returns the sum of the sizes of all values in the store, and their number, without the index of a cache.
    func stored(_ storage: StorageRouter) async throws -> (bytes: Int, count: Int) {
        let page = try await store(storage).page(StorageQuery(StorageNamespace("collection:pages")), after: nil, limit: .max)
        let sizes = page.entries.compactMap { entry in
            entry.record.map { $0.payload.byteCount + $0.metadata.byteCount + entry.address.name.utf8.count }
        }
        return (sizes.reduce(0, +), page.entries.count)
    }
}

extension ModelCache.Policy {
    /// The policy of the real cache.
    var real: CachePolicy {
        switch self {
        case .leastRecentlyUsed: .leastRecentlyUsed
        case .oldestFirst: .oldestFirst
        }
    }
}
