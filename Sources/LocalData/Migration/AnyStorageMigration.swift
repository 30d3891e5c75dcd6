/// A migration whose type is not known where it is used.
public struct AnyStorageMigration: Sendable {
    /// The migration's name in the ledger.
    public let id: String
    /// The older places.
    public let sources: [AnyStorageKey]

    /// The engine's plan, a `MigrationStep` of the destination's type; nil for a custom migration.
    let plan: (any Sendable)?
    let shouldMigrate: @Sendable (StorageRouter, MigrationContext) async throws -> Bool
    let migrate: @Sendable (StorageRouter, MigrationContext) async throws -> MigrationResult

    /// Forgets a migration's type.
    public init<Migration: StorageMigration>(_ migration: Migration) {
        id = migration.id
        sources = migration.sources
        plan = (migration as? any PlannedMigration<Migration.Value>)?.step
        shouldMigrate = { try await migration.shouldMigrate(using: $0, context: $1) }
        migrate = { try await migration.migrate(using: $0, context: $1) }
    }
}
