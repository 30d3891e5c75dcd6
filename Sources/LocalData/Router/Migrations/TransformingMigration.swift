/// Moves a value from a legacy location, where earlier versions of the program kept it, and converts it to another
/// type.
///
/// Use this type if a migration needs a condition (``ConditionalMigration``). Otherwise
/// ``StorageKey/moved(from:id:options:_:)`` is shorter and does the same. For several versions of one type, use
/// ``Evolution``.
///
/// ```swift
/// let text: StorageKey<String> = older.key("intervalText", "Minutes between updates, as text")
/// let interval = StorageKey<Int>(name: "interval", domain: .userDefaults) { key in
///     AnyStorageMigration(
///         TransformingMigration(destinationKey: key, sourceKey: text) { text in
///             guard let minutes = Int(text) else { throw NotANumber() }  // `get` throws migrationFailed, and the text stays
///             return minutes
///         })
/// }
/// print(try await storage.get(interval))
/// ```
///
/// If the closure throws, nothing is changed. A sweep then reports the key as failed, and the next run tries again.
public struct TransformingMigration<Source: Codable & Sendable, Value: Codable & Sendable>: StorageMigration {
    /// The key of the destination.
    public let destinationKey: StorageKey<Value>
    /// The key of the legacy location. It may have the destination's own slot. The migration then transforms a value
    /// there that does not decode as the destination's type.
    public let sourceKey: StorageKey<Source>
    /// The migration's name in the migration ledger, which records the migrations on this machine.
    public let id: String
    /// The options of the migration.
    public let options: MigrationOptions
    private let transform: @Sendable (Source) throws -> Value

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: The key of the destination.
    ///   - sourceKey: The key of the legacy location.
    ///   - id: The migration's name in the migration ledger; by default it is derived from both locations.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Returns the new value. If it throws, the router throws `StorageError.migrationFailed` and keeps
    ///     the source. It may run again after a crash.
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

    /// The legacy location.
    public var sources: [AnyStorageKey] { [.key(sourceKey)] }

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

extension TransformingMigration: ReadyMadeMigration {
    var step: MigrationStep<Value> { .transforming(to: destinationKey, from: sourceKey, id: id, options: options, transform) }
}
