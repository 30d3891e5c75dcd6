public import BackendContract
public import Foundation

/// What is kept where, key by key.
public struct StorageAudit: Sendable, Codable {
    /// One registered key.
    public struct Row: Sendable, Codable {
        /// The key's name.
        public var key: String
        /// The part of the program that answers for it.
        public var owner: String
        /// What it is.
        public var description: String
        /// The catalog that registered it.
        public var catalog: String
        /// Where it lives.
        public var domain: StorageDomain
        /// How well it is protected there.
        public var protection: ProtectionLevel
        /// What was found. A key is looked at by rehearsing the next sweep: `pending` and `conflict` are what it would end.
        public var state: MigrationReport.State
        /// The serializer that wrote the value; nil for an absent one, and for one that another program wrote.
        public var serializer: String?
        /// Whether another program wrote the value that is in its place.
        public var isForeign: Bool
        /// The size of the value in bytes, as it is stored.
        public var bytes: Int
        /// When it was last written, by the clock of that time.
        public var modifiedAt: Date?
        /// The migration that brought it; nil after a `set`.
        public var migration: String?
        /// When that migration last did something.
        public var migrationLastWorked: Date?
        /// The legacy locations whose values it replaced, as its record says.
        public var provenance: [StoragePlace]
        /// Legacy locations that still hold something.
        public var residue: [String]
        /// Whether an older copy is left in any place that its migrations read, through the migrations of those places too: proven, refuted, or not to be told.
        public var olderCopies: OlderCopies
        /// The older copy that a release window keeps up to date; nil where there is none.
        public var keeps: KeptCopy?
        /// How many records of a collection wait to be moved or given a new shape; nil for a single key.
        public var pendingRecords: Int?
        /// What keeps it from being in order, for people.
        public var message: String?
    }

    /// The registered keys.
    public var rows: [Row]
    /// Values that were replaced before anybody saw them.
    public var quarantine: [QuarantinedValue]
    /// Older copies that earlier runs could not remove, as `<destination>|<copy>`, with the reasons.
    public var recordedResidue: [String: String]
}
