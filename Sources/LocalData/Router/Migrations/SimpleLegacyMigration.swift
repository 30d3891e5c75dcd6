/// Moves a value from the slot where earlier versions of the program kept it to the slot of its key.
///
/// The value does not change. Use this type if a migration needs a condition (``ConditionalMigration``) or a source of
/// a type that is only known at run time. Otherwise ``StorageKey/moved(from:id:options:)`` is shorter and does the
/// same.
///
/// ```swift
/// let city = StorageKey<String>(
///     name: "city", domain: .userDefaults, owner: "Weather", description: "The first city to show",
///     migration: { key in AnyStorageMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: .oldCity)) })
/// do { print(try await storage.get(city)) } catch StorageError.migrationFailed {
///     print("The value is still in its legacy location.")
/// }
/// ```
///
/// The migration runs when the value is first read or changed, and in a sweep (``StorageRouter/sweep(_:progress:)``).
/// The value is durable at the destination before the source is deleted. After a crash the next run continues, so no
/// value is lost.
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
