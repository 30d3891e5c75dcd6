/// A change of one slot, the location of one value, and the condition under which it is made.
///
/// ```swift
/// let first = StorageMutation.put(.native(.string("Graz")), at: address, if: .absent)  // refused if the slot has a value
/// let change = StorageMutation.put(.native(.string("Linz")), at: address, if: .revision(record.revision))
/// let removal = StorageMutation.tombstone(at: address, if: .revision(record.revision))
/// ```
public struct StorageMutation: Hashable, Sendable {
    /// The change to make.
    public enum Operation: Hashable, Sendable {
        /// Store a payload (the content of a value) with its metadata.
        indirect case put(StoragePayload, StorageMetadata)
        /// Delete the slot. Deleting an empty slot changes nothing and succeeds.
        case delete
        /// Store a tombstone, which records that the value was removed.
        indirect case tombstone(StorageMetadata)
        // Reason: "A move checks the epoch and does not change it" in Docs/Decisions/Collections.md.
        /// Check the precondition without a change. In an atomic batch, the other mutations are applied only if the
        /// precondition holds. The result contains the slot's current revision (identifier of its state), or nil for an
        /// empty slot.
        case check
    }

    /// The condition under which the change is made. The backend checks it and makes the change in one atomic step.
    ///
    /// ```swift
    /// let ifEmpty = StorageMutation.put(.bytes([1]), at: StorageAddress("image"), if: .absent)
    /// let ifUnchanged = StorageMutation.put(.bytes([2]), at: StorageAddress("image"), if: .revision(record.revision))
    /// let unread = StorageMutation.put(.bytes([3]), at: StorageAddress("image"), if: .replaceable(version: 2))
    /// ```
    public enum Precondition: Hashable, Sendable {
        /// Always holds for a slot that is empty or holds a value or a tombstone. It does not hold for damaged bytes: they are overwritten
        /// only with the precondition ``revision(_:)``.
        case none
        /// The slot is empty: no value, no tombstone, no damaged bytes.
        case absent
        /// The slot is in the state with this revision.
        case revision(StorageRevision)
        /// A new record may replace the content, although the caller has not read it.
        ///
        /// The precondition holds for an empty slot, and for a value or tombstone without ``StorageMetadata/origin``.
        /// If a value has a ``StorageMetadata/schemaVersion``, this must be at most `version`. If `version` is nil,
        /// every schema version is accepted. As with ``none``, damaged bytes are not overwritten.
        case replaceable(version: Int?)
    }

    /// The address of the slot.
    public var address: StorageAddress
    /// The change to make.
    public var operation: Operation
    /// The condition under which the change is made.
    public var precondition: Precondition
    /// The metadata of the value that the precondition ``Precondition/revision(_:)`` requires, if the caller has read it. A store then need
    /// not read more of the value than its revision.
    package var knownMetadata: StorageMetadata?

    /// Creates a mutation.
    public init(_ address: StorageAddress, _ operation: Operation, if precondition: Precondition = .none) {
        self.address = address
        self.operation = operation
        self.precondition = precondition
    }

    /// Creates a mutation that stores a payload.
    ///
    /// ```swift
    /// let address = StorageAddress("city")
    /// let result = try await store.apply(.put(.native(.string("Graz")), at: address, if: .revision(record.revision)))
    /// if case .conflict = result { print("Another process changed the slot. Read it again.") }
    /// ```
    public static func put(
        _ payload: StoragePayload, _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress,
        if precondition: Precondition = .none
    ) -> StorageMutation {
        StorageMutation(address, .put(payload, metadata), if: precondition)
    }

    /// Creates a mutation that deletes a slot.
    ///
    /// ```swift
    /// let deletion = StorageMutation.delete(address, if: .revision(record.revision))
    /// ```
    public static func delete(_ address: StorageAddress, if precondition: Precondition = .none) -> StorageMutation {
        StorageMutation(address, .delete, if: precondition)
    }

    /// Creates a mutation that checks a precondition and changes nothing. In an atomic batch, the other mutations are applied only if the
    /// check succeeds.
    ///
    /// ```swift
    /// let both: [StorageMutation] = [
    ///     .put(.bytes([1]), at: StorageAddress("copy"), if: .absent),
    ///     .check(address, if: .revision(record.revision)),  // in an atomic batch, the copy is only stored if this holds
    /// ]
    /// ```
    public static func check(_ address: StorageAddress, if precondition: Precondition) -> StorageMutation {
        StorageMutation(address, .check, if: precondition)
    }

    /// Creates a mutation that stores a tombstone.
    ///
    /// ```swift
    /// let tombstone = StorageMutation.tombstone(StorageMetadata(modifiedAt: 1_700_000_000), at: address)
    /// ```
    public static func tombstone(
        _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress, if precondition: Precondition = .none
    ) -> StorageMutation {
        StorageMutation(address, .tombstone(metadata), if: precondition)
    }
}

/// The event that an applied change is certain to survive.
///
/// ```swift
/// if StorageDurability.untilPowerLoss < .durable { print("A power loss can undo the change.") }
/// ```
public enum StorageDurability: Int, Hashable, Sendable, Comparable {
    /// The change lasts as long as the process: the store is volatile.
    case process
    /// The change survives the end of the process and an orderly restart of the machine. A power cut before the restart may undo it.
    case untilPowerLoss
    /// The change survives a power cut.
    case durable

    /// Whether the first durability is weaker than the second.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The result of one mutation, the change of one slot.
///
/// ```swift
/// switch result {
/// case .applied(_, let durability): print("applied, \(durability)")
/// case .conflict(let current): print("not applied; the slot now contains \(current)")
/// case .notAttempted: print("another change of the same batch failed")
/// case .locked: print("not applied; the store is locked")
/// case .failed(let error): print("\(error.reason) The outcome is \(error.outcome).")
/// }
/// ```
public enum MutationResult: Hashable, Sendable {
    /// The mutation was applied. Contains the revision of the new state; nil if the slot is now empty.
    case applied(StorageRevision?, StorageDurability)
    /// The precondition did not hold, and nothing was changed. Contains the current state of the slot.
    case conflict(StorageProbe)
    /// Another mutation of the same atomic batch failed, so this one was not applied.
    case notAttempted
    /// The store is locked, and nothing was changed.
    case locked
    /// The mutation failed. ``BackendError/outcome`` states whether it may have been applied.
    case failed(BackendError)

    /// Whether the mutation was applied.
    public var isApplied: Bool {
        if case .applied = self { true } else { false }
    }
}
