import BackendContract
public import Foundation

/// A value with the facts that are stored with it: its times, attributes, version and expiry.
///
/// ``StorageRouter/storedValue(for:)`` returns it for a key, and ``StorageRouter/storedRecords(in:_:onDamage:)`` for
/// records. All times come from the wall clock of the machine that stored the value. They never decide which of two
/// values is newer.
///
/// ```swift
/// if let stored = try await storage.storedValue(for: .rates) {
///     print(stored.modifiedAt?.formatted() ?? "unknown", stored.schemaVersion ?? 1, stored.isExpired)
/// }
/// ```
public struct StoredValue<Value: Sendable>: Sendable {
    /// The name of the key; for a record, its id.
    public let id: String
    /// The value, converted to the current version.
    public let value: Value
    /// The stored name of the value's type; nil if none is stored.
    public let typeTag: String?
    /// The schema version with which the value is stored; nil if another program wrote it.
    public let schemaVersion: Int?
    /// Named texts that are stored with the value.
    public let attributes: [String: String]
    /// The time when a record of a collection was first stored, by the wall clock at that time; usually nil for a
    /// single value.
    public let createdAt: Date?
    /// The time when the value was last stored, by the wall clock at that time.
    public let modifiedAt: Date?
    /// The time when the value expires; nil if it never does.
    public let expiresAt: Date?
    /// Whether the value has expired. All other reads treat an expired value as absent.
    public let isExpired: Bool

    init(id: String, value: Value, _ metadata: StorageMetadata, isExpired: Bool) {
        (self.id, self.value, self.isExpired) = (id, value, isExpired)
        typeTag = metadata.typeTag
        schemaVersion = metadata.schemaVersion
        attributes = metadata.attributes.filter { !$0.key.hasPrefix(StorageMetadata.reservedPrefix) }
        createdAt = metadata.createdAt.map(Date.init(timeIntervalSince1970:))
        modifiedAt = metadata.modifiedAt.map(Date.init(timeIntervalSince1970:))
        expiresAt = metadata.expiresAt.map(Date.init(timeIntervalSince1970:))
    }
}
