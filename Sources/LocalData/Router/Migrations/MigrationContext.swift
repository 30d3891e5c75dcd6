/// The facts about one run of a migration: the application, its versions, and the reason of the run.
///
/// The router creates it for a custom migration (``StorageMigration``) and for the condition of a
/// ``ConditionalMigration``.
///
/// ```swift
/// let result = try await context.move(from: source, to: destination) { text in
///     guard let number = Int(text) else { throw NotANumber() }  // the call throws, and the source keeps its value
///     return number
/// }
/// print(result.sources.isEmpty ? "There was nothing to move." : "Moved.")
/// ```
public struct MigrationContext: Sendable {
    /// The reason why a migration runs.
    public typealias Reason = MigrationReason

    /// The application's id.
    public let applicationID: String
    /// The application's version; nil if the configuration has none.
    public let applicationVersion: String?
    /// The application's version that completed the last sweep (the migration of all keys) of the key's catalog. It is
    /// nil if there was no such sweep, if the application had no version, or if the key is in no catalog.
    /// - Throws: ``StorageError`` if the migration ledger, which records this version, cannot be read.
    public var previousVersion: String? { get throws { try run.previousVersion.get() } }
    /// The reason why the migration runs.
    public let reason: Reason

    let run: MigrationRun

    init(_ run: MigrationRun, _ router: StorageRouter) {
        applicationID = router.configuration.applicationID
        applicationVersion = router.configuration.applicationVersion
        reason = run.reason
        self.run = run
    }

    /// Moves a value between two keys in the safe order. It reads the value, transforms it, writes it to an empty slot,
    /// makes it durable and reads it back. Only then does it remove the source. If the destination already has a value,
    /// that value is kept.
    ///
    /// ```swift
    /// let result = try await context.move(from: source, to: destination) { text in
    ///     guard let number = Int(text) else { throw NotANumber() }  // the call throws, and the source keeps its value
    ///     return number
    /// }
    /// print(result.sources.isEmpty ? "There was nothing to move." : "Moved.")
    /// ```
    /// - Parameters:
    ///   - source: The key of the current location.
    ///   - destination: The key of the destination.
    ///   - options: The options of the migration. Each default is the safe choice.
    ///   - transform: Returns the new value. It may run again after a crash.
    /// - Returns: The result. Its `sources` are empty if nothing was moved.
    /// - Throws: ``StorageError``. The value is then still in its previous location.
    @discardableResult
    public func move<Source, Value>(
        from source: StorageKey<Source>, to destination: StorageKey<Value>, options: MigrationOptions = MigrationOptions(),
        transform: @escaping @Sendable (Source) throws -> Value
    ) async throws -> MigrationResult {
        let step = MigrationStep.transforming(to: destination, from: source, id: nil, options: options, transform)
        return try await run.router.perform(step, destination, self)
    }
}

extension MigrationRun {
    /// The router that runs the migration. No other type runs migrations.
    var router: StorageRouter {
        get throws {
            if let router = receiver as? StorageRouter { return router }
            throw StorageError(StorageError.unsupported, key: "", "A migration runs within a router only.")
        }
    }
}

extension StorageRouter {
    /// Returns whether a step may have work: its condition holds, and one of its sources contains a value or cannot be
    /// read.
    nonisolated func isDue<Value>(_ step: MigrationStep<Value>, _ context: MigrationContext) async throws -> Bool {
        guard try await step.mayRun(context.run) else { return false }
        return try await LegacyLocations(engine: engine).holdAnything(step.sources)
    }

    /// Moves the value of one migration step from its sources to the key's slot, with the same order of operations and
    /// the same checks as a `get` that migrates the key. Moves nothing if the slot has a readable value or the value
    /// was removed.
    nonisolated func perform<Value>(
        _ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ context: MigrationContext
    ) async throws -> MigrationResult {
        try await settler.run(step, for: try slots.routes.slot(for: key), context.run)
    }
}
