/// Moves a value, as it is, from a legacy location to its key's place.
public struct SimpleLegacyMigration<Value: Codable & Sendable>: StorageMigration {
    /// Where the value is to be.
    public let destinationKey: StorageKey<Value>
    /// Where it was. Its type of value must be the destination's.
    public let sourceKey: AnyStorageKey
    /// The migration's name in the ledger.
    public let id: String
    /// What the migration may do beyond the safe default.
    public let options: MigrationOptions

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: Where the value is to be.
    ///   - sourceKey: Where it was.
    ///   - id: The migration's name in the ledger; derived from both places when not given.
    ///   - options: What it may do beyond the safe default.
    public init(
        destinationKey: StorageKey<Value>, sourceKey: AnyStorageKey, id: String? = nil, options: MigrationOptions = MigrationOptions()
    ) {
        self.destinationKey = destinationKey
        self.sourceKey = sourceKey
        self.id = id ?? MigrationStep.moving(to: destinationKey, from: sourceKey, id: nil, options: options).id
        self.options = options
    }

    /// Creates the migration from a key whose type is known.
    public init(
        destinationKey: StorageKey<Value>, sourceKey: StorageKey<Value>, id: String? = nil, options: MigrationOptions = MigrationOptions()
    ) {
        self.init(destinationKey: destinationKey, sourceKey: .key(sourceKey), id: id, options: options)
    }

    /// The one legacy location.
    public var sources: [AnyStorageKey] { [sourceKey] }

    /// Whether there is something to move.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.isDue(step, context)
    }

    /// Moves the value in the safe order; where the destination holds one already, it stays.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await router.perform(step, destinationKey, context)
    }
}

extension SimpleLegacyMigration: ReadyMadeMigration {
    var step: MigrationStep<Value> { .moving(to: destinationKey, from: sourceKey, id: id, options: options) }
}
