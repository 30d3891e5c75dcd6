/// A feature of versions, collections or lifetimes that a run tests.
package enum RecordKind: String, Label {
    /// A key whose value has three versions in the same slot.
    case versions
    /// A key with three versions. One closure converts all earlier versions, and is called once for each value.
    case enumerated
    /// A key that came from a legacy location and has had two versions since.
    case movedVersions
    /// The records of a collection, in three versions.
    case records
    /// The records of a collection. From the second version on, each record keeps its text in a separate record.
    case referring
    /// Records that get another type tag (the stored name of their type), all at once on request.
    case retagged
    /// Records that move to another collection, all at once on request.
    case carried
    /// Records that were the elements of a list under one key.
    case listed
    /// Records that move from a legacy collection without a request.
    case gathered
    /// A key from a legacy location whose value expires.
    case expiring
    /// Records from a legacy collection that expire.
    case expiringRecords

    /// Whether the values of this kind are records of a collection.
    var isCollection: Bool { ![.versions, .enumerated, .movedVersions, .expiring].contains(self) }

    /// The version of the newest program.
    var latest: Int { [.versions, .enumerated, .movedVersions, .records].contains(self) ? 3 : 2 }

    /// The schema version in the metadata of a record at the end of a run.
    var latestSchemaVersion: Int { latest == 3 || self == .referring ? latest : 1 }

    /// Whether the bytes of earlier versions are kept as backups.
    var keepsBackups: Bool { [.versions, .enumerated, .records, .referring].contains(self) }

    /// Whether the program of the first version stores its values in a legacy location.
    var hasOlder: Bool { ![.versions, .enumerated, .records, .referring, .retagged].contains(self) }

    /// Whether values move to their destination, or get their new type, only when a program requests this for all of
    /// them.
    var isExplicit: Bool { self == .retagged || self == .carried }

    /// Whether a damaged record may be stored beside the others. It would stop a migration of all records on request,
    /// so kinds with such a migration have none.
    var mayHaveDamage: Bool { isCollection && !isExplicit }

    /// The conflict policies that are tried. A policy that occurs twice is drawn more often.
    var policies: [Policy] {
        switch self {
        case .listed, .gathered, .movedVersions, .expiring, .expiringRecords: [.destinationWins, .sourceWins, .sourceWins, .merge]
        default: [.destinationWins]
        }
    }

    /// Whether values expire.
    var expires: Bool { self == .expiring || self == .expiringRecords }
}

/// The store in which a kind keeps its values.
package enum RecordPlace: String, Label {
    /// A property list: one file, whose changes are visible before they are durable.
    case list
    /// A database: one commit for many records.
    case database
    /// A keyring: each value is a separate file, and several values have no common commit.
    case ring
    /// A property list with sealed values.
    case sealed
}
