import BackendContract
public import Foundation

/// How far a record has come on its way to another machine: kept beside the record, never within it.
public struct SyncStatus: RawRepresentable, Hashable, Sendable, Codable {
    /// The text that is stored.
    public let rawValue: String

    /// Creates a status; those of the static members are what programs usually need.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing is known.
    public static let undetermined = SyncStatus(rawValue: "undetermined")
    /// It was changed here and not sent.
    public static let notSynced = SyncStatus(rawValue: "notSynced")
    /// It is being sent.
    public static let syncing = SyncStatus(rawValue: "syncing")
    /// It is the same on both sides.
    public static let synced = SyncStatus(rawValue: "synced")
}

/// What has to be true of a record, beside its content, to be among those that are asked for. Several conditions hold all together.
///
/// In encrypted SQLite each but ``modified(since:)`` takes time in proportion to the records found, over blind indexes; elsewhere all records are read.
public struct RecordFilter: Sendable, Hashable {
    let conditions: [StorageQuery.Condition]

    /// Every record.
    public static let all = RecordFilter(conditions: [])

    /// Those with a status.
    public static func syncStatus(_ status: SyncStatus) -> RecordFilter { attribute(StorageMetadata.syncStatus, status.rawValue) }

    /// Those that were stored with a text under a name.
    public static func attribute(_ name: String, _ text: String) -> RecordFilter {
        RecordFilter(conditions: [.attribute(name, text)])
    }

    /// Those that were stored at a moment or later, by the clock of that time.
    public static func modified(since date: Date) -> RecordFilter {
        RecordFilter(conditions: [.modified(since: date.timeIntervalSince1970)])
    }

    /// Those for which both hold.
    public func and(_ other: RecordFilter) -> RecordFilter { RecordFilter(conditions: conditions + other.conditions) }
}

extension StorageMetadata {
    /// The attribute that holds a record's sync status.
    static let syncStatus = "syncStatus"
    /// The attributes by which the library itself asks for records begin with this.
    static let reservedPrefix = "LocalData."
    /// The attribute that holds the version of a record's shape, as text: so that those of an earlier one are found.
    static let versionAttribute = "LocalData.version"
    /// The attribute of records that expire.
    static let expiresAttribute = "LocalData.expires"
}

extension StoredValue {
    /// How far the record has come on its way to another machine; nil where it is not known.
    public var syncStatus: SyncStatus? { attributes[StorageMetadata.syncStatus].map(SyncStatus.init(rawValue:)) }
}
