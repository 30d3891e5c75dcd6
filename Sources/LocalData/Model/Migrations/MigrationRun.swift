/// The reason why a migration runs.
public enum MigrationReason: String, Hashable, Sendable, Codable {
    /// A call reads or changes a value that is not migrated yet.
    case read
    /// A sweep, which migrates the values of all keys of a catalog, reaches the key.
    case sweep
    /// A call migrates a single key or collection, such as ``StorageRouter/forceMigration(for:)``.
    case forced
}

/// The parameters of one run of a migration, and the host that runs it.
struct MigrationRun: Sendable {
    let reason: MigrationReason
    /// The version of the application that completed the last sweep of the key's catalog.
    let previousVersion: String?
    let host: any MigrationHost
    /// Whether this run ends the key's release window.
    var endsWindow = false
    /// The time when a release window first kept a record of the collection up to date in the legacy location, in
    /// seconds since 1970. A window of a number of days begins at this time, and ends for all records at once.
    var windowSince: Double?
    /// Called when records of a collection are done (migrated, converted or already current), with their number.
    var recordsDone: @Sendable (Int) -> Void = { _ in }
}

/// The object that runs migrations. It is the router, which custom migrations receive as a parameter.
protocol MigrationHost: AnyObject, Sendable {
    /// Splits the lists in a collection's legacy locations, so that each record can be found by its id.
    func prepare(_ collection: any TypedCollection) async throws
}
