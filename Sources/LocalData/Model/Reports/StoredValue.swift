import BackendContract
public import Foundation

/// A value with what is known of it beside its content.
public struct StoredValue<Value: Sendable>: Sendable {
    /// The name of its slot: of a record, its id.
    public let id: String
    /// The value, in its present shape.
    public let value: Value
    /// The name of the type that was stored.
    public let typeTag: String?
    /// The version of the shape in which it is stored; nil for one that another program wrote.
    public let schemaVersion: Int?
    /// Named texts beside the value.
    public let attributes: [String: String]
    /// When it was first stored, by the clock of that time.
    public let createdAt: Date?
    /// When it was last stored, by the clock of that time.
    public let modifiedAt: Date?
    /// When it stops being valid; nil for never.
    public let expiresAt: Date?
    /// Whether that was before now: such a value is absent for every other read.
    public let isExpired: Bool

    init(id: String, value: Value, _ metadata: StorageMetadata, isExpired: Bool) {
        self.id = id
        self.value = value
        self.isExpired = isExpired
        typeTag = metadata.typeTag
        schemaVersion = metadata.schemaVersion
        attributes = metadata.attributes.filter { !$0.key.hasPrefix(StorageMetadata.reservedPrefix) }
        createdAt = metadata.createdAt.map(Date.init(timeIntervalSince1970:))
        modifiedAt = metadata.modifiedAt.map(Date.init(timeIntervalSince1970:))
        expiresAt = metadata.expiresAt.map(Date.init(timeIntervalSince1970:))
    }
}
