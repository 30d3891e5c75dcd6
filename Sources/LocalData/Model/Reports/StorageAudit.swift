public import BackendContract
public import Foundation

/// A list of all registered keys with the location, the protection and the state of their values.
///
/// Use it to answer "what does this program store, and where?", for example in a settings window or for a review of
/// privacy. It contains no values.
///
/// ```swift
/// let audit = try await storage.audit()
/// for row in audit.rows {
///     print("\(row.key) of \(row.owner): \(row.state.rawValue) in \(row.domain), protected as \(row.protection)")
///     if let problem = row.message { print("  \(problem)") }
/// }
/// ```
///
/// A key that cannot be read has a row with the reason in ``Row/message``.
public struct StorageAudit: Sendable, Codable {
    /// The result for one registered key.
    public struct Row: Sendable, Codable {
        /// The key's name.
        public var key: String
        /// The part of the program that is responsible for the value.
        public var owner: String
        /// A description of the value.
        public var description: String
        /// The catalog that registered the key.
        public var catalog: String
        /// The domain of the destination.
        public var domain: StorageDomain
        /// The protection of the value at its destination.
        public var protection: ProtectionLevel
        /// The state of the key. It is found by a run of the next sweep (the migration of all keys) that changes
        /// nothing. With `pending` and `conflict`, the sweep would change something.
        public var state: MigrationReport.State
        /// The serializer that wrote the value; nil if the value is absent, or if another program wrote it.
        public var serializer: String?
        /// Whether another program wrote the value at the destination.
        public var isForeign: Bool
        /// The stored size of the value in bytes.
        public var bytes: Int
        /// The time of the last write, by the wall clock at that time.
        public var modifiedAt: Date?
        /// The migration that wrote the value; nil after a `set`.
        public var migration: String?
        /// The time of the last run of that migration that changed something.
        public var migrationLastWorked: Date?
        /// The legacy locations whose values this value replaced, according to the record's metadata. A legacy location
        /// is a slot where earlier versions of the program stored the value.
        public var provenance: [StoragePlace]
        /// The legacy locations that still contain a value.
        public var residue: [String]
        /// The older copies in all locations that the key's migrations read, and that the migrations of those locations
        /// read.
        public var olderCopies: OlderCopies
        /// The copy in a legacy location that is kept up to date for programs of an earlier release; nil if there is
        /// none.
        public var keeps: KeptCopy?
        /// The number of records of a collection that are not moved or converted yet; nil for a single key.
        public var pendingRecords: Int?
        /// A message for people about a problem of the key; nil if there is none.
        public var message: String?
    }

    /// The registered keys, and those retired keys (keys that are no longer used) whose slots are not proven to be
    /// empty.
    public var rows: [Row]
    /// Values that were replaced before a person reviewed them.
    public var quarantine: [QuarantinedValue]
    /// Older copies that earlier runs could not remove, as `<destination>|<copy>`, with the reasons.
    public var recordedResidue: [String: String]
    /// Warnings about the stores of the keys on this machine, by domain. For example, a machine that opens a database on a
    /// server for the first time cannot find out whether the server returned older keys.
    public var warnings: [String: String]
}
