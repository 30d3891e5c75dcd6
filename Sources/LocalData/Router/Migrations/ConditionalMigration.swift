/// Runs another migration only if a condition is true.
///
/// Use it for a migration that some users must not have, or that must run in a sweep only. While the condition is
/// false, the legacy location keeps its value, and a read does not find the value there.
///
/// ```swift
/// let city = StorageKey<String>(name: "city", domain: .userDefaults) { key in
///     let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey.oldCity)
///     return AnyStorageMigration(ConditionalMigration(move) { storage, context in context.reason == .sweep })
/// }
/// ```
///
/// The condition is called before each run. If it throws, the read or the sweep of this key fails, and nothing is
/// changed.
public struct ConditionalMigration<Base: StorageMigration>: StorageMigration {
    /// The migration that runs if the condition is true.
    public let base: Base
    private let condition: @Sendable (StorageRouter, MigrationContext) async throws -> Bool

    /// Creates the migration.
    /// - Parameters:
    ///   - base: The migration that runs if the condition is true.
    ///   - condition: Returns whether `base` may run. It is called before each run.
    public init(_ base: Base, when condition: @escaping @Sendable (StorageRouter, MigrationContext) async throws -> Bool) {
        self.base = base
        self.condition = condition
    }

    /// Creates a migration that only runs if the data was last migrated by an earlier version of the application than
    /// the given one.
    ///
    /// The version of the last migration is the one that completed the last sweep (the migration of all keys) of the
    /// key's catalog. If no sweep was recorded, the migration runs. If the record cannot be read, the migration does not
    /// run, and the read or the sweep of the key fails.
    ///
    /// ```swift
    /// let city = StorageKey<String>(name: "city", domain: .userDefaults) { key in
    ///     let move = SimpleLegacyMigration(destinationKey: key, sourceKey: StorageKey.oldCity)
    ///     return AnyStorageMigration(ConditionalMigration(move, below: "3.0"))  // not after version 3.0 completed a sweep
    /// }
    /// ```
    /// - Parameters:
    ///   - base: The migration that runs if the data is older.
    ///   - version: Numbers separated by dots, compared number by number: 2 equals 2.0. A pre-release, such as
    ///     2.0-beta, is older than its release.
    public init(_ base: Base, below version: String) {
        self.init(base) { _, context in
            guard let previous = try context.previousVersion else { return true }
            return ApplicationVersion(previous) < ApplicationVersion(version)
        }
    }

    /// The id of `base`.
    public var id: String { base.id }
    /// The destination of `base`.
    public var destinationKey: StorageKey<Base.Value> { base.destinationKey }
    /// The sources of `base`.
    public var sources: [AnyStorageKey] { base.sources }

    /// Returns whether the condition is true and `base` wants to run.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        guard try await condition(router, context) else { return false }
        return try await base.shouldMigrate(using: router, context: context)
    }

    /// Runs `base`.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await base.migrate(using: router, context: context)
    }
}

extension ConditionalMigration: WrappingMigration {
    var wrappedStep: MigrationStep<Base.Value>? {
        guard var step = MigrationStep<Base.Value>.of(base) else { return nil }
        step.condition = { [condition, step] run in
            let router = try run.router
            guard try await condition(router, MigrationContext(run, router)) else { return false }
            return try await step.mayRun(run)
        }
        return step
    }
}
