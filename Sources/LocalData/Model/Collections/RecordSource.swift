/// A legacy location: a store or slot where earlier versions of the program kept the records of a collection. The
/// library moves the records from there to the collection.
protocol RecordSource<Record>: Sendable {
    associatedtype Record: Codable & Sendable
    /// The release window: the time during which the legacy location is kept up to date. Nil if it is emptied at once.
    var window: ReleaseWindow? { get }
    /// The options of the migration.
    var options: MigrationOptions { get }
}

/// A legacy location that is another collection.
struct CollectionSource<Source: Codable & Sendable, Record: Codable & Sendable>: RecordSource {
    let source: StorageCollection<Source>
    let options: MigrationOptions
    let transform: @Sendable (Source) throws -> Record
    /// How the older collection is kept up to date for programs of an earlier release; nil if it is emptied at once.
    var kept: MirroredSource<Record>?

    var window: ReleaseWindow? { kept?.window }
}

/// A legacy location that is one key. The value of this key contains all records of the collection.
struct ListSource<Source: Codable & Sendable, Record: Codable & Sendable>: RecordSource {
    let key: StorageKey<Source>
    let split: @Sendable (Source) throws -> [Record]

    var window: ReleaseWindow? { nil }
    var options: MigrationOptions { MigrationOptions() }
}

/// A legacy location of a collection, and the key that represents the location in lists of legacy locations.
struct LegacyLocation: Sendable {
    let key: AnyStorageKey
    let source: any RecordSource
}
