import BackendContract

/// What the engine needs to know of a ready-made migration: where values come from and how they become one.
struct MigrationStep<Value: Codable & Sendable>: Sendable {
    /// The name in the ledger.
    let id: String
    /// The older places.
    let sources: [AnyStorageKey]
    /// Whether several sources make one value. A single source decides alone; of several, absent ones are nil.
    let isAggregating: Bool
    let options: MigrationOptions
    /// Makes the value of what the sources hold, in their order; nil to wait.
    let combine: @Sendable ([(any Sendable)?]) throws -> Value?
    /// Whether the step applies now.
    var condition: @Sendable (StorageRouter, MigrationContext) async throws -> Bool = { _, _ in true }
}

/// A migration that the engine runs by itself, in the safe order.
protocol PlannedMigration<Value>: StorageMigration {
    /// The plan, or nil for a wrapper around a migration that has none.
    var step: MigrationStep<Value>? { get }
}

extension PlannedMigration {
    /// Whether a source holds anything, or cannot be looked at.
    func stepShouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        guard let step else { return false }
        guard try await step.condition(router, context) else { return false }
        return try await router.engine.anySourceHoldsSomething(step.sources)
    }

    /// Runs the plan, as `get` and the sweep would.
    func stepMigrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        guard let step else { return MigrationResult(success: false) }
        return try await router.engine.run(step, for: destinationKey, context: context)
    }
}
