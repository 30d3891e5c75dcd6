/// A migration that moves a value from a legacy location, where earlier versions of the program kept it, without
/// changing the value.
public struct SimpleLegacyMigration<Value: Codable & Sendable>: StorageMigration {
    /// The key of the destination.
    public let destinationKey: StorageKey<Value>
    /// The key of the legacy location. It must have the same value type as the destination.
    public let sourceKey: AnyStorageKey
    /// The migration's name in the migration ledger, which records the migrations on this machine.
    public let id: String
    /// The options of the migration.
    public let options: MigrationOptions

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: The key of the destination.
    ///   - sourceKey: The key of the legacy location.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    public init(
        destinationKey: StorageKey<Value>, sourceKey: AnyStorageKey, id: String? = nil, options: MigrationOptions = MigrationOptions()
    ) {
        self.destinationKey = destinationKey
        self.sourceKey = sourceKey
        self.id = id ?? MigrationStep.moving(to: destinationKey, from: sourceKey, id: nil, options: options).id
        self.options = options
    }

    /// Creates the migration from a typed key.
    public init(
        destinationKey: StorageKey<Value>, sourceKey: StorageKey<Value>, id: String? = nil, options: MigrationOptions = MigrationOptions()
    ) {
        self.init(destinationKey: destinationKey, sourceKey: .key(sourceKey), id: id, options: options)
    }

    /// The legacy location.
    public var sources: [AnyStorageKey] { [sourceKey] }

    /// Returns whether the legacy location contains a value or cannot be read.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.isDue(step, context)
    }

    /// Moves the value: writes it to the destination, makes it durable, reads it back, and only then deletes the
    /// source. If the destination already has a value, that value is kept.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await router.perform(step, destinationKey, context)
    }
}

extension SimpleLegacyMigration: ReadyMadeMigration {
    var step: MigrationStep<Value> { .moving(to: destinationKey, from: sourceKey, id: id, options: options) }
}
