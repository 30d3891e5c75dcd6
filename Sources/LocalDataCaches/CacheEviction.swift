/// A value that a cache has evicted. It contains no content of the value.
public struct CacheEviction: Hashable, Sendable {
    /// The cause of an eviction.
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
