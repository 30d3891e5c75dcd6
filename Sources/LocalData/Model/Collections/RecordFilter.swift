import BackendContract
public import Foundation

/// The progress of a record's synchronization with another machine. It is stored in the record's metadata, not in its
/// content.
public struct SyncStatus: RawRepresentable, Hashable, Sendable, Codable {
    /// The text that is stored.
    public let rawValue: String

    /// Creates a status. Most programs only need the static members.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The status is unknown.
    public static let undetermined = SyncStatus(rawValue: "undetermined")
    /// The record was changed here and has not been sent.
    public static let notSynced = SyncStatus(rawValue: "notSynced")
    /// The record is being sent.
    public static let syncing = SyncStatus(rawValue: "syncing")
    /// Both machines have the same record.
    public static let synced = SyncStatus(rawValue: "synced")
}

/// A condition on the metadata of records. A filter with several conditions selects the records that meet all of them.
///
/// In encrypted SQLite, a query by status or attribute finds the records by keyed hashes in an index. The time of the
/// query depends on the number of records found. ``StorageCollection/withoutAttributeIndex()`` turns this index off. A
/// query by ``modified(since:)`` alone reads every record that was stored on the day of the date or later. Stores of
/// all other kinds read every record of the collection for any filter.
public struct RecordFilter: Sendable, Hashable {
    let conditions: [StorageQuery.Condition]

    /// Selects every record.
    public static let all = RecordFilter(conditions: [])

    /// Selects the records with a status.
    public static func syncStatus(_ status: SyncStatus) -> RecordFilter { attribute(StorageMetadata.syncStatus, status.rawValue) }

    /// Selects the records that were stored with an attribute of this name and text.
    public static func attribute(_ name: String, _ text: String) -> RecordFilter {
        RecordFilter(conditions: [.attribute(name, text)])
    }

    /// Selects the records that were last stored on a date or later. The date of a record comes from the wall clock at
    /// the time of storing.
    public static func modified(since date: Date) -> RecordFilter {
        RecordFilter(conditions: [.modified(since: date.timeIntervalSince1970)])
    }

    /// Returns a filter that requires the conditions of both filters.
    public func and(_ other: RecordFilter) -> RecordFilter { RecordFilter(conditions: conditions + other.conditions) }
}

extension StorageMetadata {
    /// The attribute that holds a record's sync status.
    static let syncStatus = "syncStatus"
    /// The prefix of the attributes that the library sets for its own queries.
    static let reservedPrefix = "LocalData."
    /// The attribute that holds a record's schema version as text, so that a query finds the records of earlier
    /// versions.
    static let versionAttribute = "LocalData.version"
    /// The attribute that marks records with an expiry date.
    static let expiresAttribute = "LocalData.expires"
    /// The attribute that lists the derived attributes of a record: see ``DerivedAttributes``.
    static let derivedAttribute = "LocalData.derived"

    /// The text of ``versionAttribute``. A program that declares no derived attributes, such as an earlier release,
    /// rewrites the attribute without the mark, so that stale attributes are detected.
    /// - Parameter isMarked: Whether attributes were derived from the record.
    static func versionText(_ version: Int, isMarked: Bool) -> String { isMarked ? "\(version)+" : "\(version)" }
}

extension StoredValue {
    /// The record's sync status; nil if it has none.
    public var syncStatus: SyncStatus? { attributes[StorageMetadata.syncStatus].map(SyncStatus.init(rawValue:)) }
}
