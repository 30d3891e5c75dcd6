/// The limit of a cache: a number of bytes, a number of values, or both.
///
/// Choose a number of bytes if the values differ in size.
///
/// ```swift
/// let cache = try pages.cache(limit: .bytes(64 << 20, count: 10_000))  // 64 MiB, and at most 10,000 pages
/// ```
public struct CacheLimit: Hashable, Sendable {
    /// The largest sum of the sizes of all values, in bytes; nil for no limit of the bytes.
    ///
    /// The size of a value is the number of bytes that a store receives for it: the payload after the serializer and
    /// after the seal of `security: .encrypted`, the metadata in record format 1, and the UTF-8 of the id.
    public let bytes: Int?
    /// The largest number of values; nil for no limit of the number.
    public let count: Int?

    /// A limit of the bytes, and possibly of the number of values.
    ///
    /// ```swift
    /// let cache = try pages.cache(limit: .bytes(64 << 20, count: 10_000))  // 64 MiB, and at most 10,000 pages
    /// ```
    /// - Parameters:
    ///   - bytes: The largest sum of the sizes: see ``bytes-property``.
    ///   - count: The largest number of values; nil for no limit.
    public static func bytes(_ bytes: Int, count: Int? = nil) -> CacheLimit { CacheLimit(bytes: bytes, count: count) }

    /// A limit of the number of values.
    ///
    /// ```swift
    /// let cache = try pages.cache(limit: .count(500))  // throws `unsupported` for a number below 1
    /// ```
    /// - Parameter count: The largest number of values.
    public static func count(_ count: Int) -> CacheLimit { CacheLimit(bytes: nil, count: count) }

    /// Whether values with these sums are within the limit.
    func admits(bytes: Int, count: Int) -> Bool {
        self.bytes.map { bytes <= $0 } ?? true && self.count.map { count <= $0 } ?? true
    }

    /// Whether each number of the limit is positive.
    var isPositive: Bool { bytes.map { $0 > 0 } ?? true && count.map { $0 > 0 } ?? true }
}

/// The rule by which a full cache chooses the value to evict.
///
/// The default, ``leastRecentlyUsed``, suits values that are read again. Choose ``oldestFirst`` for values that become useless
/// with age.
///
/// ```swift
/// let news = try pages.cache(limit: .count(100), policy: .oldestFirst)  // old news are not read again
/// ```
public enum CachePolicy: Hashable, Sendable {
    /// The value whose last use is the longest ago. A use is a hit, or a call that stored the value.
    case leastRecentlyUsed
    /// The value that was stored first. Storing a value again makes it the newest.
    case oldestFirst
}
