public import LocalData

/// What a registration with a migration policy did.
public struct PlanRegistration: Sendable, Codable {
    /// What the policy did.
    public var plan: PlanReport
    /// What the sweep after it found and did.
    public var sweep: MigrationReport
}

extension StorageRouter {
    /// Registers the keys of a catalog, brings their stored data to the declared schema as a policy says, and sweeps them.
    ///
    /// The whole plan is checked before anything is written. Then its steps run, each page of records in one commit. The version is stamped in every store after each step, so
    /// that the next run continues after a crash. A catalog that has its version already costs one read of each store. Wait for this call before you read values of the
    /// catalog: they have earlier versions until then.
    ///
    /// A store without a stamp and without data gets the current version's stamp. Data without a stamp count as the first version that the policy names.
    /// - Parameters:
    ///   - catalog: The keys and collections, with their ``StorageKeyCatalog/schema``.
    ///   - policy: How data of an earlier version become data of this one.
    ///   - configuration: The group of entities to migrate and sweep: a name of ``CatalogSchema/configurations``; nil for all of them.
    /// - Returns: What the policy and the sweep did.
    /// - Throws: ``StorageError``: as `registerCatalog(_:migrateImmediately:)`; `invalidEvolution` for a plan that cannot be used, naming the place; `incompatibleSchema` when
    ///   no plan begins at the stored version, or a later program has migrated the data or begun to; `migrationFailed` naming entity, record and attribute. Completed steps are
    ///   stamped and stay; nothing is lost.
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
            // Older programs may still store records of earlier versions, whatever the stamp says: reads bring them through the policy's chains.
            for key in catalog.allKeys { if let chain = outcome.chains[key.name] { try host.attach(chain, to: key) } }
            try await host.register(catalog)
            let names = configuration.flatMap { catalog.schema?.configurations[$0] }.map(Set.init)
            return PlanRegistration(plan: outcome.report, sweep: await host.sweep(catalog.id, only: names))
        }
    }

    /// Tells what ``registerCatalog(_:migrationPolicy:configuration:)`` would do, without registering or changing anything.
    ///
    /// The plan's steps and the sweep run on the live records, over stores that record instead of writing. What they would write is held in memory until the plan is made.
    /// - Returns: What the registration would return, but for the time.
    /// - Throws: As the registration; `cannotTell` for a step with a hook of the program's own, which is not run.
    @concurrent
    public nonisolated func planRegistration(
        of catalog: some StorageKeyCatalog, migrationPolicy policy: SchemaPlan.Policy, configuration: String? = nil
    ) async throws -> PlanRegistration {
        try await rehearsing().registerCatalog(catalog, migrationPolicy: policy, configuration: configuration)
    }
}
