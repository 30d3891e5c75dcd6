/// A migration that combines several legacy values into one.
public struct AggregatingMigration<Value: Codable & Sendable>: StorageMigration {
    /// The key of the destination.
    public let destinationKey: StorageKey<Value>
    let step: MigrationStep<Value>

    /// The keys of the legacy locations, where earlier versions of the program kept the values.
    public var sources: [AnyStorageKey] { step.sources }
    /// The migration's name in the migration ledger, which records the migrations on this machine.
    public var id: String { step.id }
    /// The options of the migration.
    public var options: MigrationOptions { step.options }

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: The key of the destination.
    ///   - sourceKeys: The legacy locations.
    ///   - id: The migration's name in the migration ledger; by default it is derived from the destination.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - aggregate: Returns the combined value. It receives nil for each absent value. It returns nil to wait for
    ///     more values. It is not called while all values are absent.
    public init<each Source: Codable & Sendable>(
        destinationKey: StorageKey<Value>, sourceKeys: repeat StorageKey<each Source>, id: String? = nil,
        options: MigrationOptions = MigrationOptions(), aggregate: @escaping @Sendable (repeat (each Source)?) throws -> Value?
    ) {
        self.destinationKey = destinationKey
        step = .aggregating(to: destinationKey, from: repeat each sourceKeys, id: id, options: options, aggregate)
    }

    /// Returns whether a legacy location contains a value or cannot be read.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.isDue(step, context)
    }

    /// Moves the values: writes the combined value to the destination, makes it durable, reads it back, and only then
    /// deletes the sources. If the destination already has a value, that value is kept.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await router.perform(step, destinationKey, context)
    }
}

extension AggregatingMigration: ReadyMadeMigration {}
