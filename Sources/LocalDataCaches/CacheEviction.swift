/// The id of a value that a cache has evicted, and the reason.
///
/// A cache evicts values when it is full, and those that are expired or damaged. Use this type to log damage, or to release
/// what belongs to the value. It contains no content of the value.
///
/// ```swift
/// for await eviction in cache.evictions where eviction.reason == .damaged {
///     print("\(eviction.id) was damaged, and was removed from the cache.")
/// }
/// ```
public struct CacheEviction: Hashable, Sendable {
    /// The cause of an eviction. Only `damaged` indicates a fault.
    ///
    /// ```swift
    /// switch eviction.reason {
    /// case .limit: print("The cache was full, so \(eviction.id) was removed.")
    /// case .expired: print("\(eviction.id) had expired.")
    /// case .damaged: print("\(eviction.id) could not be read.")
    /// }
    /// ```
    public enum Reason: Hashable, Sendable {
        /// The cache was full.
        case limit
        /// The value had expired.
        case expired
        /// The value was damaged, or was no value of the cache's record type.
        case damaged
    }

    /// The id of the value.
    public let id: String
    /// The cause.
    public let reason: Reason
}
