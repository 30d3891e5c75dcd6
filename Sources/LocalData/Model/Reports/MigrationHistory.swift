public import Foundation

/// The record of the migrations that ran on this machine: which values they moved, when, and which runs failed.
///
/// It is for people, and for checking on many machines whether a migration is still needed. ``StorageRouter/history()``
/// reads it from the migration ledger. No stored value depends on the ledger. If the ledger is lost, the history starts
/// empty.
///
/// The history has at most 1 MiB, which suffices for about 5,000 values. When it is full, its earliest half is replaced by
/// totals: ``values`` then lacks the values that were moved first, and ``migrations`` still counts them, for the 1,000
/// migrations that ran last.
///
/// ```swift
/// let history = try await storage.history()
/// for value in history.values { print("\(value.place) was made from \(value.sources) on \(value.date)") }
/// for migration in history.migrations where migration.failures > 0 {
///     print("\(migration.id) failed \(migration.failures) times: \(migration.lastError ?? "")")
/// }
/// ```
public struct MigrationHistory: Sendable, Codable, Hashable {
    /// A migrated value, and the locations from which it was made.
    public struct Value: Sendable, Codable, Hashable {
        /// The destination: the kind of store, its scope (such as a database), the namespace and the name.
        public var place: String
        /// The locations from which the value was made.
        public var sources: [String]
        /// The migration that moved the value.
        public var migration: String
        /// The time of the migration, by the wall clock at that time.
        public var date: Date
        /// The version of the application that ran the migration; nil if its configuration has none.
        public var applicationVersion: String?
    }

    /// The history of one migration.
    public struct Migration: Sendable, Codable, Hashable {
        /// The migration's name.
        public var id: String
        /// The number of runs that changed something.
        public var successes: Int
        /// The number of runs that failed.
        public var failures: Int
        /// The number of values that the migration moved, converted or compared.
        public var values: Int
        /// The time of the first run that changed something; nil if there is none.
        public var firstWorked: Date?
        /// The time of the last run that changed something; nil if there is none.
        public var lastWorked: Date?
        /// The time of the last run that failed; nil if there is none.
        public var lastFailed: Date?
        /// The last error, as its code and message. It never contains a value.
        public var lastError: String?
        /// The version of the application that last ran the migration.
        public var applicationVersion: String?

        /// The number of runs that changed something or failed.
        public var attempts: Int { successes + failures }
    }

    /// The values of single keys that migrations moved, sorted by their destinations.
    public var values: [Value]
    /// The migrations, sorted by their ids.
    public var migrations: [Migration]
    /// For each catalog, the version of the application that completed its last sweep, a migration of all its keys.
    public var versions: [String: String]

    /// Creates a history.
    public init(values: [Value] = [], migrations: [Migration] = [], versions: [String: String] = [:]) {
        (self.values, self.migrations, self.versions) = (values, migrations, versions)
    }
}
