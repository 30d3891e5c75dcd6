/// A value in a store, with its metadata and its revision, the identifier of its state.
///
/// ```swift
/// let record = StorageRecord(payload: .native(.string("Graz")), revision: revision, isForeign: true)
/// print(record.payload)  // native(string(4)): descriptions never contain the content
/// ```
public struct StorageRecord: Hashable, Sendable {
    /// The content.
    public var payload: StoragePayload
    /// The metadata; empty if another program wrote the value (``isForeign``).
    public var metadata: StorageMetadata
    /// The revision, which identifies this state of the slot (the location of the value).
    public var revision: StorageRevision
    /// Whether another program wrote the value. The store then has no metadata for the value, or only metadata that belongs to an earlier
    /// value.
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

/// The record of a removal. While a slot contains it, an older copy in another location never counts as the value
/// again.
///
/// ```swift
/// let removal = StorageTombstone(metadata: StorageMetadata(modifiedAt: 1_700_000_000), revision: revision)
/// ```
public struct StorageTombstone: Hashable, Sendable {
    /// The metadata of the removal. ``StorageMetadata/origin`` describes the copies in other locations that the removal supersedes.
    public var metadata: StorageMetadata
    /// The revision of this state of the slot.
    public var revision: StorageRevision

    /// Creates a tombstone.
    public init(metadata: StorageMetadata = StorageMetadata(), revision: StorageRevision) {
        self.metadata = metadata
        self.revision = revision
    }
}

/// Bytes in a slot that are not a valid record: damaged, partly written, or in an unknown format.
///
/// A backend replaces or deletes them only if a change names their revision, or if a handle identifies them.
///
/// ```swift
/// let damage = StorageCorruption(bytes: [0xFF], revision: revision, reason: "the checksum does not match")
/// print(damage)  // damaged(1 bytes: the checksum does not match)
/// ```
public struct StorageCorruption: Hashable, Sendable {
    /// The stored bytes.
    public var bytes: [UInt8]
    /// The revision of this state of the slot. Nil if the whole store is damaged, so that the slot cannot be replaced alone.
    public var revision: StorageRevision?
    /// The cause or the kind of the damage. Contains no part of the content.
    public var reason: String

    /// Creates a description of damaged bytes.
    public init(bytes: [UInt8], revision: StorageRevision?, reason: String) {
        self.bytes = bytes
        self.revision = revision
        self.reason = reason
    }
}
