/// Combines several values that earlier versions of the program stored into one value.
///
/// Use this type if a migration needs a condition (``ConditionalMigration``). Otherwise
/// `StorageKey.merged(from:id:options:by:)` is shorter and does the same.
///
/// ```swift
/// let first: StorageKey<String> = older.key("firstName", "The first name")
/// let last: StorageKey<String> = older.key("lastName", "The last name")
/// let observer = StorageKey<String>(name: "observer", domain: .userDefaults) { key in
///     AnyStorageMigration(
///         AggregatingMigration(destinationKey: key, sourceKeys: first, last) { (first: String?, last: String?) in
///             guard let first, let last else { return nil }  // wait until both values exist
///             return "\(first) \(last)"
///         })
/// }
/// print(try await storage.value(for: observer) ?? "not complete yet")
/// ```
///
/// The combined value is durable at the destination before any of the sources is deleted. With the default options,
/// nothing is changed if a source cannot be read.
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
