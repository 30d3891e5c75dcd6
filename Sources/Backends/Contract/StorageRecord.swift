/// A value as a store holds it.
public struct StorageRecord: Hashable, Sendable {
    /// The content.
    public var payload: StoragePayload
    /// The metadata; empty for a foreign record.
    public var metadata: StorageMetadata
    /// The identity of this state of the slot.
    public var revision: StorageRevision
    /// Whether another program wrote the value: it has no metadata, or metadata that does not match it.
    public var isForeign: Bool

    /// Creates a record.
    public init(payload: StoragePayload, metadata: StorageMetadata = StorageMetadata(), revision: StorageRevision, isForeign: Bool = false)
    {
        self.payload = payload
        self.metadata = metadata
        self.revision = revision
        self.isForeign = isForeign
    }
}

/// The mark that a value was removed, so that no older copy of it comes back.
public struct StorageTombstone: Hashable, Sendable {
    /// The metadata of the removal; ``StorageMetadata/origin`` names the copies that it covers.
    public var metadata: StorageMetadata
    /// The identity of this state of the slot.
    public var revision: StorageRevision

    /// Creates a tombstone.
    public init(metadata: StorageMetadata = StorageMetadata(), revision: StorageRevision) {
        self.metadata = metadata
        self.revision = revision
    }
}

/// Bytes in a slot that are not a record: damaged, torn, or written in an unknown format.
public struct StorageCorruption: Hashable, Sendable {
    /// The bytes in the store.
    public var bytes: [UInt8]
    /// The identity of this state of the slot; nil if the slot cannot be replaced alone because the whole store is damaged.
    public var revision: StorageRevision?
    /// What is damaged, without any of the content.
    public var reason: String

    /// Creates a description of damaged bytes.
    public init(bytes: [UInt8], revision: StorageRevision?, reason: String) {
        self.bytes = bytes
        self.revision = revision
        self.reason = reason
    }
}
