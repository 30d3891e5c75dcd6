import BackendContract
import BackendRuntime
import Logging

extension StorageRouter {
    /// Registers the keys of a catalog, in addition to those registered before; registering a catalog of the same id again replaces its keys' entries.
    ///
    /// The catalog is checked from its keys alone, before anything is read. A catalog that is refused names everything that is wrong with it.
    /// - Parameters:
    ///   - catalog: The keys.
    ///   - migrateImmediately: Whether to sweep the catalog at once.
    /// - Returns: What the sweep found and did, and ``MigrationReport/problems`` that do not refuse the catalog; without a sweep there are no rows.
    /// - Throws: ``StorageError``, with nothing registered and every problem in ``StorageError/catalogProblems``: `duplicateKey`, `incompleteKey` for an empty owner or description, `invalidName`,
    ///   `weakerProtection` for a key below the catalog's ``StorageKeyCatalog/minimumProtection``, `unsupported` for a source that is a key of the program, `migrationFailed` for a
    ///   circle. What the sweep meets is in the report, not thrown: see ``MigrationReport/requireComplete()``.
    @concurrent
    @discardableResult
    public nonisolated func registerCatalog(
        _ catalog: some StorageKeyCatalog, migrateImmediately: Bool = false
    ) async throws -> MigrationReport {
        let finding = try lint(catalog)
        let refusing = finding.problems.filter(\.kind.refusesCatalog)
        if !refusing.isEmpty { throw StorageError(refusing, of: catalog.id) }
        try env.registry.add(finding.entries, retired: finding.retired, catalog.id)
        for entry in finding.entries {
            for place in [(entry.key, entry.route)] + (try LegacyLocations(env).all(entry.key.sources, of: entry.route.slot)) {
                try stores.noteSealed(place.1)
            }
        }
        for problem in finding.problems {
            configuration.logger.notice("A key of a catalog cannot do all that it says.", metadata: ["problem": "\(problem)"])
        }
        var report = migrateImmediately ? await sweep(finding.entries, of: [catalog.id], progress: nil) : MigrationReport()
        report.problems = finding.problems
        return report
    }

    /// What is wrong with a catalog, from its keys alone: nothing is read or registered.
    package nonisolated func problems(of catalog: some StorageKeyCatalog) throws -> [CatalogProblem] { try lint(catalog).problems }

    private nonisolated func lint(_ catalog: some StorageKeyCatalog) throws -> CatalogLint.Finding {
        // A chain that cannot be used is found by the check itself.
        let keys = catalog.allKeys.map { ((try? env.routes.attached($0)) ?? $0).owned(by: catalog.owner) }
        return CatalogLint(env: env, catalog: catalog.id, minimum: catalog.minimumProtection).check(
            keys, retired: catalog.retiredKeys.map { $0.owned(by: catalog.owner) })
    }

    /// Moves the value of every registered key to its place, purges older copies, and applies conflict policies. It opens no prompt, and one bad key stops no other.
    /// - Parameters:
    ///   - catalog: The catalog to sweep, registered or not; nil for every registered one. Its keys are registered if they can be; a catalog that is refused is a failed row.
    ///   - progress: Called after each key, from the sweep's own tasks.
    @concurrent
    @discardableResult
    public nonisolated func sweep(
        _ catalog: (any StorageKeyCatalog)? = nil, progress: (@Sendable (MigrationProgress) -> Void)? = nil
    ) async -> MigrationReport {
        guard let catalog else { return await sweep(env.registry.entries(), of: env.registry.catalogs, progress: progress) }
        do { try await registerCatalog(catalog) } catch {
            let error = error as? StorageError
            let row = MigrationReport.Row(
                key: error?.keyName ?? catalog.id, owner: catalog.owner,
                to: catalog.allKeys.first { $0.name == error?.keyName }?.domain ?? .memory(), protection: .plain, bytes: 0, state: .failed,
                residue: [],
                message: error?.message ?? "The catalog could not be registered.", errorCode: error?.code, duration: .zero)
            return MigrationReport(rows: [row])
        }
        return await sweep(env.registry.entries(of: catalog.id), of: [catalog.id], progress: progress)
    }

    /// What a sweep would do, without changing anything: the sweep itself, rehearsed on stores that record instead of writing.
    ///
    /// Conditions, transformations, chains, conflict policies and protection are tried on the live values. While nobody changes the stores, each row is the one that the sweep
    /// then reports, but for the time. A migration of the program's own that would run is not tried: its row says ``MigrationReport/State/cannotTell``. What the sweep would write is
    /// held in memory until the plan is made. No prompt is opened, and no store, file or key is made.
    @concurrent
    public nonisolated func planSweep() async -> MigrationReport {
        let rehearsal = rehearsing()
        return await rehearsal.sweep()
    }

    /// Runs a key's migration now, whatever its destination holds, and applies its conflict policy.
    /// - Throws: ``StorageError``; the values are then where they were.
    @concurrent
    @discardableResult
    public nonisolated func forceMigration<Value>(for key: StorageKey<Value>) async throws -> MigrationResult {
        try await Self.cancellable(key.name, isStepwise: true) {
            let start = env.runtime.clock.now
            let slot = try entry(key)
            let visit = try await Settler(env).visit(slot, await env.run(.forced, slot.id, self))
            await env.ledger.flush()
            return MigrationResult(visit, key.name, start.duration(to: env.runtime.clock.now))
        }
    }

    /// Ends the release window of a key: its older place is compared with the value once more, and then emptied. A program of this or a later release that still keeps the window
    /// stops doing so; one of an earlier release finds nothing there any more. A key without a window, or whose window is over, is swept.
    /// - Returns: What was done. What could not be deleted is recorded, and goes with a later sweep.
    /// - Throws: ``StorageError``; the values are then where they were.
    @concurrent
    @discardableResult
    public nonisolated func endReleaseWindow<Value>(for key: StorageKey<Value>) async throws -> MigrationResult {
        try await Self.cancellable(key.name, isStepwise: true) {
            let start = env.runtime.clock.now
            let slot = try entry(key)
            var run = await env.run(.forced, slot.id, self)
            run.endsWindow = true
            let visit = try await Settler(env).visit(slot, run)
            await env.ledger.flush()
            return MigrationResult(visit, key.name, start.duration(to: env.runtime.clock.now))
        }
    }

    /// Ends the release window of a collection, of all its records: see `endReleaseWindow(for:)` of a key.
    /// - Returns: How many records were moved or decided meanwhile, as ``MigrationResult/records``.
    /// - Throws: ``StorageError`` naming the first record that could not be settled; the others are, and repeating the call goes on where it was.
    @concurrent
    @discardableResult
    public nonisolated func endReleaseWindow<Record>(in collection: StorageCollection<Record>) async throws -> MigrationResult {
        try await Self.cancellable(collection.name, isStepwise: true) {
            let start = env.runtime.clock.now
            let slot = try entry(collection.placeholder)
            var run = await env.run(.forced, slot.id, self)
            run.endsWindow = true
            let work = try await RecordSettler(env).settle(collection, run)
            await env.ledger.flush()
            try work.throwFirst()
            return MigrationResult(
                success: true, key: collection.name, records: work.moved + work.reconciled, bytes: work.bytes,
                duration: start.duration(to: env.runtime.clock.now))
        }
    }

    /// Asks for the end of a collection's release window: see `requestReleaseWindowEnd(for:)` of a key.
    /// - Throws: ``StorageError`` when the ledger cannot be written.
    package nonisolated func requestReleaseWindowEnd<Record>(in collection: StorageCollection<Record>) async throws {
        try await Self.cancellable(collection.name) { try await requestReleaseWindowEnd(for: collection.placeholder) }
    }

    /// Asks for the end of a key's release window: the next sweep of the program that keeps it ends it, as `endReleaseWindow(for:)` does. For tools, which do not know the key's
    /// migrations. The wish is durable when this returns.
    /// - Parameter key: A key of the value's own place.
    /// - Throws: ``StorageError`` when the ledger cannot be written.
    package nonisolated func requestReleaseWindowEnd<Value>(for key: StorageKey<Value>) async throws {
        try await Self.cancellable(key.name) {
            let route = try env.routes.slot(for: key).route
            try await translatingErrors(key: key.name) { () throws(BackendError) in try await env.ledger.requestRelease(of: route) }
        }
    }

    nonisolated func sweep(
        _ entries: [KeyRegistry.Entry], of catalogs: [String]? = nil, progress: (@Sendable (MigrationProgress) -> Void)?
    ) async -> MigrationReport {
        let start = env.runtime.clock.now
        await env.ledger.look()
        var report = await Sweep(env, self).run(entries, progress: progress)
        report.rows += await RetiredRows(env).rows(of: catalogs ?? Set(entries.map(\.catalog)).sorted())
        if report.isComplete, let version = configuration.applicationVersion {
            for catalog in Set(entries.map(\.catalog)) { env.ledger.completed(version: version, catalog) }
        }
        await env.ledger.flush()
        report.duration = start.duration(to: env.runtime.clock.now)
        if !report.isComplete {
            configuration.logger.notice(
                "A sweep is not complete.",
                metadata: ["keys": "\(report.rows.count)", "blocked": "\(report.blocked.count)", "failed": "\(report.failed.count)"])
        }
        return report
    }
}
