/// What is tried with versions, collections and lifetimes.
package enum RecordKind: String, Label {
    /// A key whose value has three versions, in its place.
    case versions
    /// The same, with a block that is run once for each value.
    case enumerated
    /// A key that came from an older place and has had two versions since.
    case movedVersions
    /// The records of a collection, in three versions.
    case records
    /// The records of a collection, whose second version keeps what it holds in a record of its own.
    case referring
    /// Records that are given another type's tag, all at once when asked to.
    case retagged
    /// Records that are brought to another place, all at once when asked to.
    case carried
    /// Records that were a list under one key.
    case listed
    /// Records that come from an older collection by themselves.
    case gathered
    /// A key whose value expires, from an older place.
    case expiring
    /// Records that expire, from an older collection.
    case expiringRecords

    /// Whether it is about the records of a collection.
    var isCollection: Bool { ![.versions, .enumerated, .movedVersions, .expiring].contains(self) }

    /// The version of the newest program.
    var latest: Int { [.versions, .enumerated, .movedVersions, .records].contains(self) ? 3 : 2 }

    /// The version that a record's metadata tell in the end.
    var latestSchemaVersion: Int { latest == 3 || self == .referring ? latest : 1 }

    /// Whether the bytes of earlier versions are kept.
    var keepsBackups: Bool { [.versions, .enumerated, .records, .referring].contains(self) }

    /// Whether the program of the first version keeps its values elsewhere.
    var hasOlder: Bool { ![.versions, .enumerated, .records, .referring, .retagged].contains(self) }

    /// Whether values come to their place and type only when a program asks for all of them.
    var isExplicit: Bool { self == .retagged || self == .carried }

    /// Whether a damaged record may be among its records: where all are brought over when asked to, it would stop that.
    var mayHaveDamage: Bool { isCollection && !isExplicit }

    /// Whether values expire.
    var expires: Bool { self == .expiring || self == .expiringRecords }
}

/// Where a kind's values are.
package enum RecordPlace: String, Label {
    /// One file, whose changes show before they are durable.
    case list
    /// One commit for many records.
    case database
    /// Each value a file, and no commit for several.
    case ring
    /// A list, with sealed values.
    case sealed
}
