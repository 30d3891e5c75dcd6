/// The result of a key rotation, which replaces the key of a key source. It lists the data that still needs an older
/// key.
///
/// A key source is the location of encryption keys, such as a keyring item.
///
/// ```swift
/// print("\(report.databases) databases and \(report.values) values use the new key. \(report.olderKeys) older keys remain.")
/// if !report.isComplete { print("Repeat the call for \(report.remaining).") }
/// ```
public struct KeyRotationReport: Hashable, Sendable {
    /// The number of databases whose data keys were encrypted again (rewrapped), with the new key. The library's internal stores on a
    /// server count as databases.
    public internal(set) var databases = 0
    /// The number of values, tombstones (records of removals) and quarantined values that were resealed.
    public internal(set) var values = 0
    /// The number of older keys that the source keeps, for data that is still sealed with them.
    public let olderKeys: Int
    /// Data that is still sealed with an older key, or that could not be checked, each with the reason. The next call retries it.
    public internal(set) var remaining: [String] = []

    init(olderKeys: Int) { self.olderKeys = olderKeys }

    /// Whether all data that the registered catalogs cover is sealed with the new key.
    public var isComplete: Bool { remaining.isEmpty }
}
