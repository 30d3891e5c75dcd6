import BackendContract
public import Foundation

/// Says how far the synchronization of a record with another machine is. It is stored in the record's metadata, not in
/// its content.
///
/// LocalData does not synchronize. A program that does sets the status, and finds the waiting records with
/// ``RecordFilter/syncStatus(_:)``. A `set` without a status keeps the stored one, so pass ``notSynced`` with each
/// change by the user.
///
/// ```swift
/// for try await note in storage.records(in: notes, .syncStatus(.notSynced)) {
///     try await send(note)  // if it throws, the note stays `notSynced`
///     try await storage.set(note, in: notes, syncStatus: .synced)
/// }
/// ```
public struct SyncStatus: RawRepresentable, Hashable, Sendable, Codable {
    /// The text that is stored.
    public let rawValue: String

    /// Creates a custom status. Most programs only need the static members.
    ///
    /// ```swift
    /// let rejected = SyncStatus(rawValue: "rejected")
    /// try await storage.set(note, in: notes, syncStatus: rejected)
    /// ```
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

/// Selects the records of a collection by their metadata: an attribute, a sync status, or the time of the last change.
/// A filter with several conditions selects the records that meet all of them.
///
/// Pass the attributes of a record to `set(_:in:syncStatus:attributes:lifetime:replacingLaterVersions:)`. A filter
/// never reads the content of a record.
///
/// In encrypted SQLite, a query by status or attribute finds the records by keyed hashes in an index. The time of the
/// query depends on the number of records found. ``StorageCollection/withoutAttributeIndex()`` turns this index off. A
/// query by ``modified(since:)`` alone reads every record that was stored on the day of the date or later. Stores of
/// all other kinds read every record of the collection for any filter.
///
/// ```swift
/// let filter = RecordFilter.attribute("folder", "inbox").and(.modified(since: lastSync))
/// for try await note in storage.records(in: notes, filter) { show(note.title) }
/// ```
public struct RecordFilter: Sendable, Hashable {
    let conditions: [StorageQuery.Condition]

    /// Selects every record.
    ///
    /// ```swift
    /// let total = try await storage.count(in: notes, .all)
    /// ```
    public static let all = RecordFilter(conditions: [])

    /// Selects the records with a status.
    ///
    /// ```swift
    /// let waiting = try await storage.count(in: notes, .syncStatus(.notSynced))
    /// ```
    public static func syncStatus(_ status: SyncStatus) -> RecordFilter { attribute(StorageMetadata.syncStatus, status.rawValue) }

    /// Selects the records that were stored with an attribute of this name and text.
    ///
    /// ```swift
    /// let inbox = try await storage.count(in: notes, .attribute("folder", "inbox"))
    /// ```
    public static func attribute(_ name: String, _ text: String) -> RecordFilter {
        RecordFilter(conditions: [.attribute(name, text)])
    }

    /// Selects the records that were last stored on a date or later. The date of a record comes from the wall clock at
    /// the time of storing.
    ///
    /// ```swift
    /// let recent = try await storage.count(in: notes, .modified(since: lastSync))
    /// ```
    public static func modified(since date: Date) -> RecordFilter {
        RecordFilter(conditions: [.modified(since: date.timeIntervalSince1970)])
    }

    /// Returns a filter that requires the conditions of both filters.
    ///
    /// ```swift
    /// let recentInbox = try await storage.count(in: notes, .attribute("folder", "inbox").and(.modified(since: lastSync)))
    /// ```
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
    ///
    /// ```swift
    /// if try await storage.storedValue(note.id, in: notes)?.syncStatus == .synced { show("Up to date") }
    /// ```
    public var syncStatus: SyncStatus? { attributes[StorageMetadata.syncStatus].map(SyncStatus.init(rawValue:)) }
}
