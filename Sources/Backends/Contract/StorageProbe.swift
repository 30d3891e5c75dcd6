/// The result of reading one slot, the location of one value.
///
/// *Absent* means that the slot was proven to be empty. A locked or missing store, an error or a time-out is never
/// reported as absent.
///
/// ```swift
/// switch probe {
/// case .value(let record): print("\(record.payload.byteCount) bytes")
/// case .tombstone: print("The value was removed.")
/// case .absent: print("There is no value.")
/// case .locked: print("Unlock the store to find out.")
/// case .unavailable(let error): print(error.reason)
/// case .corrupt(let damage): print("Damaged: \(damage.reason)")
/// }
/// ```
public enum StorageProbe: Hashable, Sendable {
    /// The slot holds a value.
    case value(StorageRecord)
    /// The slot holds a tombstone: its value was removed.
    case tombstone(StorageTombstone)
    /// The slot is empty. The store was verified to exist, to be unlocked and to be undamaged.
    case absent
    /// The store is locked, so the read could not determine the content of the slot.
    case locked
    /// The slot could not be read. The error states the cause.
    case unavailable(BackendError)
    /// The slot holds damaged bytes.
    case corrupt(StorageCorruption)

    /// The revision, which identifies the state that was read; nil if that state has no revision.
    public var revision: StorageRevision? {
        switch self {
        case .value(let record): record.revision
        case .tombstone(let tombstone): tombstone.revision
        case .corrupt(let corruption): corruption.revision
        case .absent, .locked, .unavailable: nil
        }
    }

    /// The record, if the slot holds a value.
    public var record: StorageRecord? {
        if case .value(let record) = self { record } else { nil }
    }
}
