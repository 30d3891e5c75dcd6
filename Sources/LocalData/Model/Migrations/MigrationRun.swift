/// Why a migration runs.
public enum MigrationReason: String, Hashable, Sendable, Codable {
    /// A value was asked for and is not in its place.
    case read
    /// A sweep visits the key.
    case sweep
    /// ``StorageRouter/forceMigration(for:)`` was called.
    case forced
}

/// What a migration is told about its run, and who runs it.
struct MigrationRun: Sendable {
    let reason: MigrationReason
    /// The application's version that completed the last sweep of the key's catalog.
    let previousVersion: String?
    let host: any MigrationHost
    /// Whether the key's release window ends with this run.
    var endsWindow = false
    /// When the first record of a collection was kept up to date, in seconds since 1970: the window of all of them ends at once.
    var windowSince: Double?
    /// Called when records of a collection are done, with their number.
    var recordsDone: @Sendable (Int) -> Void = { _ in }
}

/// Who runs migrations: the router, which a program's own migrations are given, and which knows collections.
protocol MigrationHost: AnyObject, Sendable {
    /// Makes sure that each record of a collection can be found by its id.
    func prepare(_ collection: any TypedCollection) async throws
}
