/// A migration that the library performs: its sources, and the function that creates the new value.
struct MigrationStep<Value: Codable & Sendable>: Sendable {
    /// The migration's name in the migration ledger, which records the migrations on this machine.
    let id: String
    /// The keys from which the value is taken.
    let sources: [AnyStorageKey]
    /// Whether several sources are combined into one value. Then ``combine`` receives nil for each removed or absent
    /// value. If there is a single source and its value was removed, the value at the destination counts as removed
    /// too.
    let isAggregating: Bool
    let options: MigrationOptions
    /// Creates the new value from the values of the sources, in their order; nil to wait for more values.
    let combine: @Sendable ([(any Sendable)?]) throws -> Value?
    /// Returns whether the step may run; nil if it always may.
    var condition: (@Sendable (MigrationRun) async throws -> Bool)?
    /// Whether the sources keep their values, because they belong to other keys and are not legacy locations.
    var keepsSources = false
    /// How the source is kept up to date for programs of an earlier release; nil if the source is emptied at once.
    var kept: MirroredSource<Value>?

    /// Whether the condition of the step holds.
    func mayRun(_ run: MigrationRun) async throws -> Bool { try await condition?(run) ?? true }

    /// This step, which copies the value and leaves the sources unchanged.
    var keepingSources: Self {
        var step = self
        step.keepsSources = true
        return step
    }

    /// Returns this step with a source that is kept up to date during a release window.
    func keeping(_ kept: MirroredSource<Value>) -> Self {
        var step = self
        step.kept = kept
        return step
    }
}

extension MigrationStep {
    /// Moves a value without changing it.
    static func moving(to destination: StorageKey<Value>, from source: AnyStorageKey, id: String?, options: MigrationOptions) -> Self {
        let id = id ?? String(joining: [destination.name, ":SimpleLegacyMigration:", source.domain.description, "/", source.name])
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

    /// Moves a value and converts it to another type.
    static func transforming<Source>(
        to destination: StorageKey<Value>, from source: StorageKey<Source>, id: String?, options: MigrationOptions,
        _ transform: @escaping @Sendable (Source) throws -> Value
    ) -> Self {
        let id = id ?? "\(destination.name):TransformingMigration:\(source.domain)/\(source.name)"
        return MigrationStep(id: id, sources: [.key(source)], isAggregating: false, options: options) { values in
            try (values[0] as? Source).map(transform)
        }
    }

    /// Combines several values into one.
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
