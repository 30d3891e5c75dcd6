/// What a look at one slot found: exactly one of six things.
///
/// *Absent* is proven. A lock, an error, a time-out or a store that is not there is never reported as absent.
public enum StorageProbe: Hashable, Sendable {
    /// The slot holds a value.
    case value(StorageRecord)
    /// The value of the slot was removed.
    case tombstone(StorageTombstone)
    /// The slot is empty, and the store was seen to be there, open and whole.
    case absent
    /// The store is locked; whether the slot holds anything is unknown, or known and unreadable.
    case locked
    /// The slot could not be looked at; the error says why.
    case unavailable(BackendError)
    /// The slot holds bytes that are not a record.
    case corrupt(StorageCorruption)

    /// The revision of the state that was seen; nil where there is none to name.
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
