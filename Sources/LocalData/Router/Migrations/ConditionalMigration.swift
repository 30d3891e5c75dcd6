internal import Foundation

/// Runs another migration only under a condition.
public struct ConditionalMigration<Base: StorageMigration>: StorageMigration {
    /// The migration that runs when the condition holds.
    public let base: Base
    private let condition: @Sendable (StorageRouter, MigrationContext) async throws -> Bool

    /// Creates the migration.
    /// - Parameters:
    ///   - base: What runs when the condition holds.
    ///   - condition: Asked each time before `base` is considered.
    public init(_ base: Base, when condition: @escaping @Sendable (StorageRouter, MigrationContext) async throws -> Bool) {
        self.base = base
        self.condition = condition
    }

    /// Creates a migration that runs only for data of an application older than a version.
    ///
    /// The version is the one that completed the last sweep of the key's catalog; data of unknown age counts as older.
    /// - Parameters:
    ///   - base: What runs when the data is older.
    ///   - version: Numbers separated by dots, compared number by number.
    public init(_ base: Base, below version: String) {
        self.init(base) { _, context in
            guard let previous = context.previousVersion else { return true }
            return previous.compare(version, options: .numeric) == .orderedAscending
        }
    }

    /// The id of `base`.
    public var id: String { base.id }
    /// The destination of `base`.
    public var destinationKey: StorageKey<Base.Value> { base.destinationKey }
    /// The sources of `base`.
    public var sources: [AnyStorageKey] { base.sources }

    /// Asks the condition, and if it holds `base`.
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
        step.condition = { [condition, inner = step.condition] run in
            let router = try run.router
            guard try await condition(router, MigrationContext(run, router)) else { return false }
            return try await inner(run)
        }
        return step
    }
}
