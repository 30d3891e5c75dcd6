/// One change of one slot.
public struct StorageMutation: Hashable, Sendable {
    /// What to do with the slot.
    public enum Operation: Hashable, Sendable {
        /// Store this payload and metadata.
        case put(StoragePayload, StorageMetadata)
        /// Delete the slot. Deleting an empty slot changes nothing and succeeds.
        case delete
        /// Store a tombstone: the mark that the value was removed.
        case tombstone(StorageMetadata)
        /// Change nothing: the precondition is all that counts. In an atomic batch, the other changes depend on it. The result has the revision of the state
        /// that is there, nil for an empty slot.
        case check
    }

    /// What must be true of the slot, at the moment of the change, for the change to happen.
    public enum Precondition: Hashable, Sendable {
        /// No precondition, except that bytes which are not a record are overwritten only with their revision.
        case none
        /// The slot is empty: no value, no tombstone, no damaged bytes.
        case absent
        /// The slot is in the state that has this revision.
        case revision(StorageRevision)
        /// The slot holds nothing that a new record would have to take into account. It is empty, or it holds a value or a tombstone without
        /// ``StorageMetadata/origin``; and a value's ``StorageMetadata/schemaVersion`` is unknown or at most `version`. Without a version, any is. Damaged bytes
        /// are treated as by ``none``.
        case replaceable(version: Int?)
    }

    /// The slot.
    public var address: StorageAddress
    /// The change.
    public var operation: Operation
    /// Its condition.
    public var precondition: Precondition

    /// Creates a mutation.
    public init(_ address: StorageAddress, _ operation: Operation, if precondition: Precondition = .none) {
        self.address = address
        self.operation = operation
        self.precondition = precondition
    }

    /// A mutation that stores a payload.
    public static func put(
        _ payload: StoragePayload, _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress,
        if precondition: Precondition = .none
    ) -> StorageMutation {
        StorageMutation(address, .put(payload, metadata), if: precondition)
    }

    /// A mutation that deletes a slot.
    public static func delete(_ address: StorageAddress, if precondition: Precondition = .none) -> StorageMutation {
        StorageMutation(address, .delete, if: precondition)
    }

    /// A mutation that changes nothing, and whose precondition the other mutations of an atomic batch depend on.
    public static func check(_ address: StorageAddress, if precondition: Precondition) -> StorageMutation {
        StorageMutation(address, .check, if: precondition)
    }

    /// A mutation that marks a slot as removed.
    public static func tombstone(
        _ metadata: StorageMetadata = StorageMetadata(), at address: StorageAddress, if precondition: Precondition = .none
    ) -> StorageMutation {
        StorageMutation(address, .tombstone(metadata), if: precondition)
    }
}

/// How long an applied change is certain to last.
public enum StorageDurability: Int, Hashable, Sendable, Comparable {
    /// As long as the process: the store is volatile and says so in its capabilities.
    case process
    /// It survives the process and the next orderly start of the machine; a power cut before that may undo it.
    case untilPowerLoss
    /// It survives a power cut.
    case durable

    /// Whether the first lasts less long than the second.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The result of one mutation.
public enum MutationResult: Hashable, Sendable {
    /// It took effect. The revision is that of the slot's new state, nil when the slot is now empty.
    case applied(StorageRevision?, StorageDurability)
    /// Its precondition did not hold; nothing changed. The probe is the actual state of the slot.
    case conflict(StorageProbe)
    /// Another mutation of the same atomic batch failed, so this one was not made.
    case notAttempted
    /// The store is locked; nothing changed.
    case locked
    /// It failed; ``BackendError/outcome`` says whether it may have taken effect.
    case failed(BackendError)

    /// Whether the mutation took effect.
    public var isApplied: Bool {
        if case .applied = self { true } else { false }
    }
}
