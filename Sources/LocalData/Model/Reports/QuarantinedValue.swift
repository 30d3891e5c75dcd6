public import Foundation

/// A value that was replaced before a person reviewed it. The quarantine keeps it until a person decides.
///
/// ``StorageQuarantine`` returns the bytes, and purges an entry after the review. The entry itself contains no value.
///
/// ```swift
/// for value in try await storage.quarantine.values() {
///     print("\(value.key) was in \(value.place): \(value.reason)")
/// }
/// ```
public struct QuarantinedValue: Sendable, Codable, Identifiable {
    /// The name of the entry. It is derived from the key, the location and the content, so keeping the same bytes again
    /// changes nothing.
    public let id: String
    /// The name of the key; empty for a copy of a whole file, and for a damaged entry.
    public let key: String
    /// The original location of the value; empty for a damaged entry.
    public let place: String
    /// The reason why the value was quarantined.
    public let reason: String
    /// Whether the entry is encrypted. A value that was protected better than in a plain file is encrypted in the
    /// quarantine.
    public let isSealed: Bool
    /// The time when the value was quarantined; nil for a damaged entry, which does not contain it.
    public let since: Date?
}
