/// Makes one value of several older ones.
public struct AggregatingMigration<Value: Codable & Sendable>: StorageMigration {
    /// Where the value is to be.
    public let destinationKey: StorageKey<Value>
    /// The older places.
    public let sources: [AnyStorageKey]
    /// The migration's name in the ledger.
    public let id: String
    /// What the migration may do beyond the safe default.
    public let options: MigrationOptions
    private let combine: @Sendable ([(any Sendable)?]) throws -> Value?

    /// Creates the migration.
    /// - Parameters:
    ///   - destinationKey: Where the value is to be.
    ///   - sourceKeys: The older places.
    ///   - id: The migration's name in the ledger; derived from the destination when not given.
    ///   - options: What it may do beyond the safe default.
    ///   - aggregate: Makes the value of what was found, nil for what is absent; returns nil for "not yet". Not called while everything is absent.
    public init<each Source: Codable & Sendable>(
        destinationKey: StorageKey<Value>, sourceKeys: repeat StorageKey<each Source>, id: String? = nil,
        options: MigrationOptions = MigrationOptions(), aggregate: @escaping @Sendable (repeat (each Source)?) throws -> Value?
    ) {
        var sources: [AnyStorageKey] = []
        repeat sources.append(.key(each sourceKeys))
        self.destinationKey = destinationKey
        self.sources = sources
        self.id = id ?? "\(destinationKey.name):AggregatingMigration"
        self.options = options
        combine = { values in
            var position = 0
            func next<Element>(_ type: Element.Type) -> Element? {
                defer { position += 1 }
                return values[position] as? Element
            }
            return try aggregate(repeat next((each Source).self))
        }
    }

    /// Whether there is something to move.
    public func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await stepShouldMigrate(using: router, context: context)
    }

    /// Moves the value in the safe order; where the destination holds one already, it stays.
    public func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await stepMigrate(using: router, context: context)
    }
}

extension AggregatingMigration: PlannedMigration {
    var step: MigrationStep<Value>? {
        MigrationStep(id: id, sources: sources, isAggregating: true, options: options, combine: combine)
    }
}
