extension SchemaPlan {
    /// A program's own work around a step.
    public typealias Hook = @Sendable (StorageRouter) async throws -> Void
}

extension SchemaPlan.ModelMigration {
    /// Describes a step.
    /// - Parameters:
    ///   - version: The version that it leads to; the name is persisted.
    ///   - stage: Whether it may be more than what can be inferred.
    ///   - willMigrate: Called before the step's changes. After a crash it may be called again, if that came before its end was noted; so with `didMigrate`.
    ///   - didMigrate: Called after the step's changes, and before the version is stamped.
    ///   - changes: What changes, in this order.
    public init(
        _ version: String, stage: SchemaPlan.Stage = .custom, willMigrate: SchemaPlan.Hook? = nil, didMigrate: SchemaPlan.Hook? = nil,
        @SchemaPlan.EntityChanges _ changes: () -> [SchemaPlan.EntityChange]
    ) {
        self.init(
            version: version, stage: stage, willMigrate: Self.running(willMigrate), didMigrate: Self.running(didMigrate), changes: changes()
        )
    }

    private static func running(_ hook: SchemaPlan.Hook?) -> SchemaPlan.RunHook? {
        guard let hook else { return nil }
        return { run in try await hook(try run.router) }
    }
}
