/// What the protocol needs to know of a ready-made migration: where values come from and how they become one.
struct MigrationStep<Value: Codable & Sendable>: Sendable {
    /// The name in the ledger.
    let id: String
    /// The legacy locations.
    let sources: [AnyStorageKey]
    /// Whether several sources make one value. A single source decides alone; of several, absent ones are nil.
    let isAggregating: Bool
    let options: MigrationOptions
    /// Makes the value of what the sources hold, in their order; nil to wait.
    let combine: @Sendable ([(any Sendable)?]) throws -> Value?
    /// Whether the step applies now.
    var condition: @Sendable (MigrationRun) async throws -> Bool = { _ in true }
    /// Whether the sources keep their values: they belong to others, and are no legacy locations.
    var keepsSources = false
    /// How the source is kept up to date for programs of an earlier release; nil where it is emptied.
    var kept: MirroredSource<Value>?

    /// The same step, as a copy.
    var keepingSources: Self {
        var step = self
        step.keepsSources = true
        return step
    }

    /// The same step, with a source that is kept up to date.
    func keeping(_ kept: MirroredSource<Value>) -> Self {
        var step = self
        step.kept = kept
        return step
    }
}

extension MigrationStep {
    /// Moves a value as it is.
    static func moving(to destination: StorageKey<Value>, from source: AnyStorageKey, id: String?, options: MigrationOptions) -> Self {
        let id = id ?? "\(destination.name):SimpleLegacyMigration:\(source.domain)/\(source.name)"
        return MigrationStep(id: id, sources: [source], isAggregating: false, options: options) { [name = destination.name] values in
            guard let found = values[0] else { return nil }
            guard let value = found as? Value else {
                throw StorageError(
                    StorageError.migrationFailed, key: name,
                    "The source's values have another type than \(Value.self). Use moved(from:_:) or TransformingMigration to convert them."
                )
            }
            return value
        }
    }

    /// Moves a value and changes its shape.
    static func transforming<Source>(
        to destination: StorageKey<Value>, from source: StorageKey<Source>, id: String?, options: MigrationOptions,
        _ transform: @escaping @Sendable (Source) throws -> Value
    ) -> Self {
        let id = id ?? "\(destination.name):TransformingMigration:\(source.domain)/\(source.name)"
        return MigrationStep(id: id, sources: [.key(source)], isAggregating: false, options: options) { values in
            try (values[0] as? Source).map(transform)
        }
    }

    /// Makes one value of several.
    static func aggregating<each Source: Codable & Sendable>(
        to destination: StorageKey<Value>, from keys: repeat StorageKey<each Source>, id: String?, options: MigrationOptions,
        _ aggregate: @escaping @Sendable (repeat (each Source)?) throws -> Value?
    ) -> Self {
        var sources: [AnyStorageKey] = []
        repeat sources.append(.key(each keys))
        let id = id ?? "\(destination.name):AggregatingMigration"
        return MigrationStep(id: id, sources: sources, isAggregating: true, options: options) { values in
            var position = 0
            func next<Element>(_ type: Element.Type) -> Element? {
                defer { position += 1 }
                return values[position] as? Element
            }
            return try aggregate(repeat next((each Source).self))
        }
    }
}
