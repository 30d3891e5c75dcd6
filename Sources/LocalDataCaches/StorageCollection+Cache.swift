public import LocalData

extension StorageCollection {
    /// Returns a cache of this collection's records. It evicts values so that it never exceeds its limit.
    ///
    /// ```swift
    /// do {
    ///     let cache = try pages.cache(limit: .bytes(64 << 20), policy: .leastRecentlyUsed, storage: storage)
    ///     print(cache.limit, cache.policy)
    /// } catch StorageError.unsupported {
    ///     print("The collection has legacy locations, or is in a store without caches.")
    /// }
    /// ```
    ///
    /// The values are in a store for caches, never in the collection's own store:
    ///
    /// | domain of the collection | store of the cache |
    /// |---|---|
    /// | `.encryptedSQLite(database:)` | the encrypted database of this name in the folder of the caches, below `XDG_CACHE_HOME` |
    /// | `.memory(_:)` | the memory of this process |
    ///
    /// Backups contain no caches. A program can delete the folder of the caches at any time, and loses only cached
    /// values. Keep the returned object: each object has an index of all values. The call opens nothing.
    /// - Parameters:
    ///   - limit: The limit of the cache. Another process may use the same cache with another limit. Each process then
    ///     keeps its limit whenever it commits.
    ///   - policy: The rule by which a full cache chooses the value to evict.
    ///   - storage: The router.
    /// - Throws: `StorageError`: `unsupported` for a collection with legacy locations, for a limit that is not
    ///   positive, and for other domains. A cache may evict the only copy of a value, so migrated values are never
    ///   cached. `unregisteredKey` if keys must be registered, and the collection is not.
    public func cache(
        limit: CacheLimit, policy: CachePolicy = .leastRecentlyUsed, storage: StorageRouter = .shared
    ) throws -> StorageCache<Record> {
        func refusal(_ message: String) -> StorageError {
            StorageError(StorageError.unsupported, key: name, "\(message) Nothing was changed.")
        }
        if hasLegacyLocations {
            throw refusal(
                "The collection has legacy locations. A cache may evict the only copy of a migrated value. Cache a collection without moved(from:)."
            )
        }
        guard limit.isPositive else { throw refusal("The limit of a cache must be positive.") }
        let domain: StorageDomain
        switch self.domain.kind {
        case .encryptedSQLite: domain = .cache(self.domain.scope ?? "default")
        case .memory: domain = .memory("LocalData.cache.\(self.domain.scope ?? "default")")
        default: throw refusal("A cache is in an encrypted database or in memory. Give the collection one of these domains.")
        }
        return StorageCache(CacheStore(try storage.cacheAccess(self, in: domain), limit, policy))
    }
}
