/// The reason why a migration runs: a read, a sweep, or a call for a single key.
///
/// A condition can use it to restrict a migration to sweeps:
///
/// ```swift
/// let city = StorageKey<String>(name: "city", domain: .userDefaults) { key in
///     let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey.oldCity)
///     return AnyStorageMigration(ConditionalMigration(move) { storage, context in context.reason == .sweep })
/// }
/// ```
public enum MigrationReason: String, Hashable, Sendable, Codable {
    /// A call reads or changes a value that is not migrated yet.
    case read
    /// A sweep, which migrates the values of all keys of a catalog, reaches the key.
    case sweep
    /// A call migrates a single key or collection, such as ``StorageRouter/forceMigration(for:)``.
    case forced
}

/// The parameters of one run of a migration.
struct MigrationRun: Sendable {
    let reason: MigrationReason
    /// The application's version when it completed the last sweep of the key's catalog; nil if no sweep was recorded. An error
    /// if the record cannot be read.
    let previousVersion: Result<String?, any Error>
    /// The object that a custom migration receives. Only the room Router knows its type.
    let receiver: (any AnyObject & Sendable)?
    /// Whether this run ends the key's release window, during which a legacy location is kept up to date.
    var endsWindow = false
    /// The time when a legacy location first got an up-to-date copy of a record of the collection, in seconds since
    /// 1970. If a release window lasts a number of days, it begins at this time. It ends for all records at once.
    var windowSince: Double?
    /// Called with the number of records of a collection that are done: migrated, converted or already current.
    var recordsDone: @Sendable (Int) -> Void = { _ in }
}
