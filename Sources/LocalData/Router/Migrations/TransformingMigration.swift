/// Moves a value from a legacy location and shape to its key's place and shape.
public struct TransformingMigration<Source: Codable & Sendable, Value: Codable & Sendable>: StorageMigration {
    /// Where the value is to be.
    public let destinationKey: StorageKey<Value>
    /// Where it was. It may be the destination's own slot: then a value that does not decode there is transformed in place.
    public let sourceKey: StorageKey<Source>
    /// The migration's name in the ledger.
    public let id: String
    /// What the migration may do beyond the safe default.
    public let options: MigrationOptions
    private let transform: @Sendable (Source) throws -> Value

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: Where the value is to be.
    ///   - sourceKey: Where it was.
    ///   - id: The migration's name in the ledger; derived from both places when not given.
    ///   - options: What it may do beyond the safe default.
    ///   - transform: Makes the new value. What it throws becomes `StorageError.migrationFailed`, and the source stays. It may run again after a crash.
    public init(
        destinationKey: StorageKey<Value>, sourceKey: StorageKey<Source>, id: String? = nil, options: MigrationOptions = MigrationOptions(),
        transform: @escaping @Sendable (Source) throws -> Value
    ) {
        self.destinationKey = destinationKey
        self.sourceKey = sourceKey
        self.id = id ?? MigrationStep.transforming(to: destinationKey, from: sourceKey, id: nil, options: options, transform).id
        self.options = options
        self.transform = transform
    }

    /// The one legacy location.
    public var sources: [AnyStorageKey] { [.key(sourceKey)] }

    /// Whether there is something to move.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.isDue(step, context)
    }

    /// Moves the value in the safe order; where the destination holds one already, it stays.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await router.perform(step, destinationKey, context)
    }
}

extension TransformingMigration: ReadyMadeMigration {
    var step: MigrationStep<Value> { .transforming(to: destinationKey, from: sourceKey, id: id, options: options, transform) }
}
