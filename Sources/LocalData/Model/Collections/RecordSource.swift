/// A legacy location of a collection: all of its records come from there.
protocol RecordSource<Record>: Sendable {
    associatedtype Record: Codable & Sendable
    /// How long it is kept up to date; nil for one that is left behind.
    var window: ReleaseWindow? { get }
}

/// An older collection.
struct CollectionSource<Source: Codable & Sendable, Record: Codable & Sendable>: RecordSource {
    let source: StorageCollection<Source>
    let options: MigrationOptions
    let transform: @Sendable (Source) throws -> Record
    /// How it is kept up to date for programs of an earlier release.
    var kept: MirroredSource<Record>?

    var window: ReleaseWindow? { kept?.window }
}

/// A value under a key that held all records of a collection.
struct ListSource<Source: Codable & Sendable, Record: Codable & Sendable>: RecordSource {
    let key: StorageKey<Source>
    let split: @Sendable (Source) throws -> [Record]

    var window: ReleaseWindow? { nil }
}

/// A legacy location of a collection, with the key under which it is listed.
struct LegacyLocation: Sendable {
    let key: AnyStorageKey
    let source: any RecordSource
}
