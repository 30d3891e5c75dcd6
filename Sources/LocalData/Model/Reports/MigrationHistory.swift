public import Foundation

/// What the ledger remembers of migrations on this machine: for people, and for asking a fleet whether a migration is still needed.
///
/// No value depends on it. A ledger that was lost begins anew.
public struct MigrationHistory: Sendable, Codable, Hashable {
    /// Where a value came from.
    public struct Value: Sendable, Codable, Hashable {
        /// The value's place: kind of store, scope, namespace and name.
        public var place: String
        /// The places that it was made of.
        public var sources: [String]
        /// The migration that brought it.
        public var migration: String
        /// When, by the clock of that time.
        public var date: Date
        /// The version of the application that brought it; nil if its configuration named none.
        public var applicationVersion: String?
    }

    /// What one migration did.
    public struct Migration: Sendable, Codable, Hashable {
        /// The migration's name.
        public var id: String
        /// How often it did something.
        public var successes: Int
        /// How often it failed.
        public var failures: Int
        /// How many values it brought, converted or compared.
        public var values: Int
        /// When it first did something; nil if it never did.
        public var firstWorked: Date?
        /// When it last did something.
        public var lastWorked: Date?
        /// When it last failed; nil if it never did.
        public var lastFailed: Date?
        /// The last error, as its code and sentence; never a value.
        public var lastError: String?
        /// The version of the application that it last ran in.
        public var applicationVersion: String?

        /// How often it ran.
        public var attempts: Int { successes + failures }
    }

    /// The values that migrations of single keys brought, by their places.
    public var values: [Value]
    /// The migrations, by their names.
    public var migrations: [Migration]
    /// The application's version that completed the last sweep of each catalog.
    public var versions: [String: String]

    /// Creates a history.
    public init(values: [Value] = [], migrations: [Migration] = [], versions: [String: String] = [:]) {
        self.values = values
        self.migrations = migrations
        self.versions = versions
    }
}
