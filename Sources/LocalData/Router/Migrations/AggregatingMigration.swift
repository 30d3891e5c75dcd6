/// Makes one value of several older ones.
public struct AggregatingMigration<Value: Codable & Sendable>: StorageMigration {
    /// Where the value is to be.
    public let destinationKey: StorageKey<Value>
    let step: MigrationStep<Value>

    /// The legacy locations.
    public var sources: [AnyStorageKey] { step.sources }
    /// The migration's name in the ledger.
    public var id: String { step.id }
    /// What the migration may do beyond the safe default.
    public var options: MigrationOptions { step.options }

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: Where the value is to be.
    ///   - sourceKeys: The legacy locations.
    ///   - id: The migration's name in the ledger; derived from the destination when not given.
    ///   - options: What it may do beyond the safe default.
    ///   - aggregate: Makes the value of what was found, nil for what is absent; returns nil for "not yet". Not called while everything is absent.
    public init<each Source: Codable & Sendable>(
        destinationKey: StorageKey<Value>, sourceKeys: repeat StorageKey<each Source>, id: String? = nil,
        options: MigrationOptions = MigrationOptions(), aggregate: @escaping @Sendable (repeat (each Source)?) throws -> Value?
    ) {
        self.destinationKey = destinationKey
        step = .aggregating(to: destinationKey, from: repeat each sourceKeys, id: id, options: options, aggregate)
    }

    /// Whether there is something to move.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.isDue(step, context)
    }

    /// Moves the value in the safe order; where the destination holds one already, it stays.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await router.perform(step, destinationKey, context)
    }
}

extension AggregatingMigration: ReadyMadeMigration {}
