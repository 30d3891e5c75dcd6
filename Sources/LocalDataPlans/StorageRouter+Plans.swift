public import LocalData

/// The result of registering a catalog with a migration policy: the work of the plan, and the sweep after it.
///
/// ```swift
/// do {
///     let result = try await storage.registerCatalog(catalog, migrationPolicy: .incremental(chain))
///     for step in result.plan.steps { print("\(step.from ?? "no version") -> \(step.to): \(step.records) records") }
///     try result.sweep.requireComplete()
/// } catch StorageError.incompatibleSchema {
///     print("A later version of the program has migrated the data. Nothing was changed.")
/// }
/// ```
public struct PlanRegistration: Sendable, Codable {
    /// The work of the policy.
    public var plan: PlanReport
    /// The report of the sweep that followed.
    public var sweep: MigrationReport
}

extension StorageRouter {
    /// Registers the keys of a catalog, migrates their stored data to the declared schema by a policy, and sweeps them.
    /// A sweep moves the values of all keys from their legacy locations and resolves conflicts.
    ///
    /// ```swift
    /// do {
    ///     let result = try await storage.registerCatalog(catalog, migrationPolicy: .incremental(chain))
    ///     for step in result.plan.steps { print("\(step.from ?? "no version") -> \(step.to): \(step.records) records") }
    ///     try result.sweep.requireComplete()
    /// } catch StorageError.incompatibleSchema {
    ///     print("A later version of the program has migrated the data. Nothing was changed.")
    /// }
    /// ```
    ///
    /// The router checks all plans of the policy before it writes anything. Then it runs the steps, and writes each
    /// page of records in one commit. After each step it writes a *stamp* into every store: a record with the version
    /// of the data. So the next run continues after a crash. A catalog that is already current costs one read of each
    /// store. Wait for this call before you read values of the catalog, because they have earlier versions until it
    /// returns.
    ///
    /// Data without a stamp has the first version that the policy names. If there is neither a stamp nor data, the call
    /// runs no step and writes stamps with the current version.
    /// - Parameters:
    ///   - catalog: The keys and collections, with their `StorageKeyCatalog.schema`.
    ///   - policy: The plans, or another way, to migrate data of an earlier version.
    ///   - configuration: Restricts the migration and the sweep to a group of keys and collections. The schema declares
    ///     the groups in `CatalogSchema.configurations`, and this is the name of one of them. Nil for all keys and
    ///     collections.
    /// - Returns: The results of the policy and of the sweep.
    /// - Throws: `StorageError`. Completed steps keep their effects and their stamps, and no data is lost.
    ///   - All errors of `registerCatalog(_:migrateImmediately:)`.
    ///   - `invalidEvolution` for an invalid plan. The message names the faulty part.
    ///   - `incompatibleSchema` if the policy has no plan that begins at the stored version, or if a later version of
    ///     this program has migrated the data or has begun to.
    ///   - `migrationFailed` if a record cannot be migrated or a hook fails. For a record, the message names the record
    ///     and its entity, and the attribute if one is the cause.
    @concurrent
    @discardableResult
    public nonisolated func registerCatalog(
        _ catalog: some StorageKeyCatalog, migrationPolicy policy: SchemaPlan.Policy, configuration: String? = nil
    ) async throws -> PlanRegistration {
        try await call("registerCatalog", isStepwise: true) {
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
    /// ```swift
    /// let plan = try await storage.planRegistration(of: catalog, migrationPolicy: .incremental(chain))
    /// print("\(plan.plan.steps.map(\.records).reduce(0, +)) records would change")
    /// ```
    ///
    /// The policy and the sweep read the stored records. Their writes stay in memory, and are discarded when the call
    /// returns.
    /// - Returns: The result of the registration, except for the durations.
    /// - Throws: The errors of the registration; `cannotTell` for a step with a hook (a closure of the program),
    ///   because the hook is not run.
    @concurrent
    public nonisolated func planRegistration(
        of catalog: some StorageKeyCatalog, migrationPolicy policy: SchemaPlan.Policy, configuration: String? = nil
    ) async throws -> PlanRegistration {
        try await rehearsing().registerCatalog(catalog, migrationPolicy: policy, configuration: configuration)
    }
}
