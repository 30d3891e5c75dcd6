/// The result of reading one slot: exactly one of six cases.
///
/// *Absent* is proven. A lock, an error, a time-out or a store that is not there is never reported as absent.
public enum StorageProbe: Hashable, Sendable {
    /// The slot holds a value.
    case value(StorageRecord)
    /// The value of the slot was removed.
    case tombstone(StorageTombstone)
    /// The slot is empty, and the store was verified to exist, to be open and undamaged.
    case absent
    /// The store is locked. Whether the slot holds a value may be unknown.
    case locked
    /// The slot could not be read; the error says why.
    case unavailable(BackendError)
    /// The slot holds bytes that are not a record.
    case corrupt(StorageCorruption)

    /// The revision of the state that was read; nil if it has none.
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
