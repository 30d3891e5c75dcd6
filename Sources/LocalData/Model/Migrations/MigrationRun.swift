/// The reason why a migration runs.
public enum MigrationReason: String, Hashable, Sendable, Codable {
    /// A call reads or changes a value that is not migrated yet.
    case read
    /// A sweep settles the key.
    case sweep
    /// A call settles a single key or collection, such as ``StorageRouter/forceMigration(for:)``.
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
    /// The time when the first record of a collection was mirrored, in seconds since 1970. The window of all records
    /// ends at once.
    var windowSince: Double?
    /// Reports that records of a collection are settled, with their number.
    var recordsDone: @Sendable (Int) -> Void = { _ in }
}

/// The object that runs migrations. It is the router, which custom migrations receive as a parameter.
protocol MigrationHost: AnyObject, Sendable {
    /// Splits legacy lists of a collection, so that each record can be found by its id.
    func prepare(_ collection: any TypedCollection) async throws
}
