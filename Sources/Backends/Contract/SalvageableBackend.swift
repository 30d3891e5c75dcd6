/// What a store calls a damaged slot whose name is lost: opaque, valid until the slot changes.
public struct DamageHandle: Hashable, Sendable {
    /// The handle's bytes. Only the backend that made them can interpret them.
    public let bytes: [UInt8]

    /// Creates a handle from the bytes that a backend chose.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// A damaged slot whose name cannot be read, because the store keeps names sealed together with what they name.
public struct DamagedSlot: Hashable, Sendable {
    /// What the store calls the slot.
    public let handle: DamageHandle
    /// The bytes in the store, their identity, and what is damaged.
    public let corruption: StorageCorruption

    /// Creates a damaged slot.
    public init(_ handle: DamageHandle, _ corruption: StorageCorruption) {
        self.handle = handle
        self.corruption = corruption
    }
}

/// The slots of a namespace, as far as they can be told apart.
public struct StorageListing: Hashable, Sendable {
    /// The slots that hold a value, a tombstone or damaged bytes, and whose names can be read: in no particular order.
    public let addresses: [StorageAddress]
    /// Every damaged slot of the store whose name cannot be read. It may belong to this namespace or to another one.
    public let damaged: [DamagedSlot]

    /// Creates a listing.
    public init(_ addresses: [StorageAddress], damaged: [DamagedSlot]) {
        self.addresses = addresses
        self.damaged = damaged
    }
}

/// A store that claims ``BackendCapabilities/sealsNames``: the name of a damaged slot may be lost, so such a slot is listed, read and removed by a handle.
///
/// ``StorageBackend/addresses(in:)`` of such a store fails while there is a slot without a readable name. ``StoragePage/damaged`` has those that may answer the query.
public protocol SalvageableBackend: StorageBackend {
    /// The slots of a namespace, with every damaged slot whose name cannot be read.
    /// - Throws: ``BackendError`` when the slots cannot be listed for another reason than damage to single slots.
    func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing

    /// What is damaged in the slot that a handle names; nil if the slot has changed since, or is gone.
    /// - Throws: ``BackendError`` when that cannot be known.
    func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption?

    /// Deletes the damaged slot that a handle names, durably when it returns. Nothing else is changed.
    /// - Returns: False if the slot has changed since, or is gone: nothing was changed then.
    /// - Throws: ``BackendError``; ``BackendError/outcome`` says whether it may have been deleted.
    func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool
}
