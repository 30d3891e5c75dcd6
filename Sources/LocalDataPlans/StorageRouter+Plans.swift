public import LocalData

/// The result of registering a catalog with a migration policy.
public struct PlanRegistration: Sendable, Codable {
    /// The work of the policy.
    public var plan: PlanReport
    /// The report of the sweep that followed.
    public var sweep: MigrationReport
}

extension StorageRouter {
    /// Registers the keys of a catalog, migrates their stored data to the declared schema by a policy, and sweeps them.
    ///
    /// The router checks the whole plan before it writes anything. Then it runs the steps, and writes each page of records in one
    /// commit. After each step it stamps the version in every store, so that the next run continues after a crash. A catalog that
    /// is already current costs one read of each store. Wait for this call before you read values of the catalog, because they have
    /// earlier versions until it returns.
    ///
    /// A store without a stamp and without data gets the current version's stamp. Data without a stamp count as the first version
    /// that the policy names.
    /// - Parameters:
    ///   - catalog: The keys and collections, with their ``StorageKeyCatalog/schema``.
    ///   - policy: The policy that migrates data of an earlier version.
    ///   - configuration: The group of entities to migrate and sweep: a name of ``CatalogSchema/configurations``; nil for all of
    ///     them.
    /// - Returns: The results of the policy and of the sweep.
    /// - Throws: ``StorageError``: all errors of `registerCatalog(_:migrateImmediately:)`. It throws `invalidEvolution` for an
    ///   invalid plan, and its message names the faulty part. It throws `incompatibleSchema` when no plan begins at the stored
    ///   version, or when a later program has completed or begun a migration of the data. It throws `migrationFailed` naming
    ///   entity, record and attribute. Completed steps are stamped and stay, and no data are lost.
    @concurrent
    @discardableResult
    public nonisolated func registerCatalog(
        _ catalog: some StorageKeyCatalog, migrationPolicy policy: SchemaPlan.Policy, configuration: String? = nil
    ) async throws -> PlanRegistration {
        try await Self.cancellable("storage", isStepwise: true) {
            let host = planHost
            try await host.register(catalog)
            let session = PlanSession(
                host: host, router: self, catalog: catalog.id, schema: catalog.schema, entries: catalog.allKeys,
                configuration: configuration)
            let outcome: PlanSession.Outcome
            do { outcome = try await session.run(policy) } catch {
                await host.flushNotes()
                throw error
            }
            // Reads convert records of earlier versions with the chains of versions from the policy's plans.
            // Reason: "The version of each record decides, not the stamp" in Docs/Decisions/Evolution.md.
            for key in catalog.allKeys { if let chain = outcome.chains[key.name] { try host.attach(chain, to: key) } }
            try await host.register(catalog)
            let names = configuration.flatMap { catalog.schema?.configurations[$0] }.map(Set.init)
            return PlanRegistration(plan: outcome.report, sweep: await host.sweep(catalog.id, only: names))
        }
    }

    /// Returns the result that ``registerCatalog(_:migrationPolicy:configuration:)`` would have, without registering or changing
    /// anything.
    ///
    /// The plan's steps and the sweep run on the live records, over stores that record writes instead of performing them. The
    /// recorded writes stay in memory until the call returns.
    /// - Returns: The result of the registration, except for the durations.
    /// - Throws: The errors of the registration; `cannotTell` for a step with a custom hook, because a hook is not run.
    @concurrent
    public nonisolated func planRegistration(
        of catalog: some StorageKeyCatalog, migrationPolicy policy: SchemaPlan.Policy, configuration: String? = nil
    ) async throws -> PlanRegistration {
        try await rehearsing().registerCatalog(catalog, migrationPolicy: policy, configuration: configuration)
    }
}
