/// The counts of a cache, such as hits, misses and evictions.
///
/// Use them to choose the limit, and to notice that the store fails.
///
/// ```swift
/// let statistics = try await cache.statistics
/// print("\(statistics.count) pages, \(statistics.bytes) bytes, hit rate \(statistics.hitRate ?? 0)")
/// if statistics.failures > 0 { print("The store failed. Pages were downloaded instead.") }
/// ```
public struct CacheStatistics: Hashable, Sendable {
    /// The number of reads that returned a cached value, since the cache object was created.
    public internal(set) var hits = 0
    /// The number of reads that found no valid value, since the cache object was created.
    public internal(set) var misses = 0
    /// The number of values that this object has evicted for any reason: see ``CacheEviction/Reason-swift.enum``.
    public internal(set) var evictions = 0
    /// The number of times that a failure of the store did not stop ``StorageCache/value(_:lifetime:_:)``.
    public internal(set) var failures = 0
    /// The sum of the sizes of all values: see ``CacheLimit/bytes-property``.
    public internal(set) var bytes = 0
    /// The number of values. A value that has expired counts until it is evicted.
    public internal(set) var count = 0

    /// The share of hits among all reads, from 0 to 1; nil before the first read.
    public var hitRate: Double? { hits + misses == 0 ? nil : Double(hits) / Double(hits + misses) }
}
