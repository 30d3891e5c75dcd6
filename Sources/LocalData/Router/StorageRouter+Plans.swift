extension StorageRouter {
    /// Registers the keys of a catalog, brings their stored data to the declared schema as a policy says, and sweeps them.
    ///
    /// The whole plan is checked before anything is written. Then its steps are run, each page of records in one commit, and the version is stamped in every store after each
    /// step: a run that was killed goes on where it was, and a catalog that is at its version already takes one look. Wait for it before the catalog's values are read: they
    /// have earlier versions until then.
    ///
    /// A store without a stamp and without data gets the current version's stamp. Data without a stamp count as the first version that the policy names.
    /// - Parameters:
    ///   - catalog: The keys and collections, with their ``StorageKeyCatalog/schema``.
    ///   - policy: How data of an earlier version become data of this one.
    ///   - configuration: The group of entities to migrate and sweep: a name of ``CatalogSchema/configurations``; nil for all of them.
    /// - Returns: What the sweep found and did, with the steps in ``MigrationReport/plan``.
    /// - Throws: ``StorageError``: as ``registerCatalog(_:migrateImmediately:)``; `invalidEvolution` for a plan that cannot be used, naming the place; `incompatibleSchema` when
    ///   no plan begins at the stored version, or a later program has migrated what is stored or begun to; `migrationFailed` naming entity, record and attribute. What steps before have done is stamped and stays; nothing is lost.
    @concurrent
    @discardableResult
    public nonisolated func registerCatalog(
        _ catalog: some StorageKeyCatalog, migrationPolicy policy: StorageMigrationPolicy, configuration: String? = nil
    ) async throws -> MigrationReport {
        try await registerCatalog(catalog)
        let session = PlanSession(
            env: env, host: self, logger: self.configuration.logger, catalog: catalog.id, schema: catalog.schema, entries: catalog.allKeys,
            configuration: configuration)
        let outcome: PlanSession.Outcome
        do { outcome = try await session.run(policy) } catch {
            await env.ledger.flush()
            throw error
        }
        // The policy's chains read what an older program stores from now on: in its own version, whatever the stamp says.
        for key in catalog.allKeys { if let chain = outcome.chains[key.name] { try env.routes.attach(chain, to: key) } }
        try await registerCatalog(catalog)
        let names = configuration.flatMap { catalog.schema?.configurations[$0] }.map(Set.init)
        let entries = env.registry.entries(of: catalog.id).filter { names?.contains($0.key.name) ?? true }
        var report = await sweep(entries, progress: nil)
        report.plan = outcome.report
        return report
    }

    /// What ``registerCatalog(_:migrationPolicy:configuration:)`` would do, without registering or changing anything: it is rehearsed on stores that record instead of writing.
    ///
    /// The plan's steps and the sweep after them are tried on the live records. What they would write is held in memory until the plan is made.
    /// - Returns: The report that the registration would give, but for the time.
    /// - Throws: As the registration; `cannotTell` for a step with a hook of the program's own, which is not run.
    @concurrent
    public nonisolated func planRegistration(
        of catalog: some StorageKeyCatalog, migrationPolicy policy: StorageMigrationPolicy, configuration: String? = nil
    ) async throws -> MigrationReport {
        try await rehearsing().registerCatalog(catalog, migrationPolicy: policy, configuration: configuration)
    }
}
