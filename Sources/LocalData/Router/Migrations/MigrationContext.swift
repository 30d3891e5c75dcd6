/// What a migration is told about its run.
public struct MigrationContext: Sendable {
    /// Why a migration runs.
    public typealias Reason = MigrationReason

    /// The application's id.
    public let applicationID: String
    /// The application's version, if the configuration names one.
    public let applicationVersion: String?
    /// The version that completed the last sweep of the key's catalog; nil when none has, when it named none, or when the key is in no catalog.
    public let previousVersion: String?
    /// Why the migration runs.
    public let reason: Reason

    let run: MigrationRun

    init(_ run: MigrationRun, _ router: StorageRouter) {
        applicationID = router.configuration.applicationID
        applicationVersion = router.configuration.applicationVersion
        previousVersion = run.previousVersion
        reason = run.reason
        self.run = run
    }

    /// Moves a value between two keys in the safe order: read, transform, write to an empty place, make it durable, read it back, and only then remove
    /// the old one. Nothing is replaced: where the destination holds a value already, it stays.
    /// - Parameters:
    ///   - source: Where the value is.
    ///   - destination: Where it is to be.
    ///   - options: What the move may do beyond the safe default.
    ///   - transform: Makes the new value; it may run again after a crash.
    /// - Returns: The result; its `source` is nil when there was nothing to move.
    /// - Throws: ``StorageError``; the old value is then where it was.
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
    /// The router that runs the migration: the only host there is.
    var router: StorageRouter {
        get throws {
            if let router = host as? StorageRouter { return router }
            throw StorageError(StorageError.unsupported, key: "", "A migration runs within a router only.")
        }
    }
}

extension StorageRouter {
    /// Whether a source of a step holds anything, or cannot be read.
    nonisolated func isDue<Value>(_ step: MigrationStep<Value>, _ context: MigrationContext) async throws -> Bool {
        guard try await step.condition(context.run) else { return false }
        return try await LegacyLocations(env).holdAnything(step.sources)
    }

    /// Runs a step by itself, as `get` and the sweep would.
    nonisolated func perform<Value>(
        _ step: MigrationStep<Value>, _ key: StorageKey<Value>, _ context: MigrationContext
    ) async throws -> MigrationResult {
        try await Settler(env).run(step, for: try env.routes.slot(for: key), context.run)
    }
}
