/// Identifies a damaged slot (the location of one value) whose name is lost. It is opaque and valid until the slot
/// changes.
///
/// ```swift
/// let slotWithoutName = DamagedSlot(DamageHandle([0, 0, 0, 7]), damage)  // the backend chose the bytes: a row number
/// ```
public struct DamageHandle: Hashable, Sendable {
    /// The handle's bytes. Only the backend that made them can interpret them.
    public let bytes: [UInt8]

    /// Creates a handle from the bytes that a backend chose.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// A damaged slot whose name cannot be read, because the store encrypts the name together with the content.
///
/// ```swift
/// let slotWithoutName = DamagedSlot(DamageHandle([0, 0, 0, 7]), damage)  // the backend chose the bytes: a row number
/// ```
public struct DamagedSlot: Hashable, Sendable {
    /// The identifier of the slot.
    public let handle: DamageHandle
    /// The stored bytes, the slot's revision (the identifier of its state), and the reason for the damage.
    public let corruption: StorageCorruption

    /// Creates a damaged slot.
    public init(_ handle: DamageHandle, _ corruption: StorageCorruption) {
        self.handle = handle
        self.corruption = corruption
    }
}

/// The slots of a namespace, and the damaged slots that have no readable name.
///
/// ```swift
/// let listing = try await store.listing(in: .values)
/// print("\(listing.addresses.count) slots, and \(listing.damaged.count) without a readable name")
/// ```
public struct StorageListing: Hashable, Sendable {
    /// The slots with a readable name that hold a value, a tombstone (the record of a removal) or damaged bytes. They
    /// are in no particular order.
    public let addresses: [StorageAddress]
    /// Every damaged slot of the store whose name cannot be read. It may belong to this namespace or to another one.
    public let damaged: [DamagedSlot]

    /// Creates a listing.
    public init(_ addresses: [StorageAddress], damaged: [DamagedSlot]) {
        self.addresses = addresses
        self.damaged = damaged
    }
}

/// A store of which a part can be locked while the rest can be used, such as a keyring with several collections.
package protocol PartlyLockedBackend: StorageBackend {
    /// Lists the slots of a namespace, also while a part of the store is locked. Unlike
    /// ``StorageBackend/addresses(in:)``, the list may be incomplete, so it proves no absence.
    /// - Returns: The slots with a readable name, locked ones included, and an opaque handle for each locked slot whose
    ///   name cannot be read.
    /// - Throws: ``BackendError``: `locked` if the whole store is locked.
    func slotsBesideLocks(
        in namespace: StorageNamespace
    ) async throws(BackendError) -> (addresses: [StorageAddress], nameless: [DamageHandle])
}

/// A store that encrypts names, so that damage can make the name of a slot unreadable. Such a slot is listed, read and
/// deleted by a handle.
///
/// Implement it if the backend claims ``BackendCapabilities/sealsNames``.
///
/// ```swift
/// for slot in try await store.listing(in: .values).damaged {
///     guard let damage = try await store.damage(at: slot.handle) else { continue }  // it was changed since then
///     print("\(damage.bytes.count) bytes cannot be read: \(damage.reason)")
///     if try await store.deleteDamage(at: slot.handle) { print("deleted") }
/// }
/// ```
///
/// While a slot has no readable name, ``StorageBackend/addresses(in:)`` throws. A page of a query contains such slots
/// in ``StoragePage/damaged``, because they may match the query.
public protocol SalvageableBackend: StorageBackend {
    /// Lists the slots of a namespace, and every damaged slot of the store whose name cannot be read.
    /// - Throws: ``BackendError`` when the slots cannot be listed. Damage to single slots is no reason to throw.
    func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing

    /// Reads the damaged slot that a handle identifies.
    /// - Returns: The damaged bytes; nil if the slot has changed since the handle was made, or no longer exists.
    /// - Throws: ``BackendError`` when the slot cannot be read.
    func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption?

    /// Deletes the damaged slot that a handle identifies, and changes no other slot. The deletion is durable when the call returns.
    /// - Returns: False, without a change, if the slot has changed since the handle was made, or no longer exists.
    /// - Throws: ``BackendError``. Its ``BackendError/outcome`` states whether the slot may have been deleted.
    func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool
}
