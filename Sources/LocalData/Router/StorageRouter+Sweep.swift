import BackendContract
import BackendRuntime

extension StorageRouter {
    /// Registers the keys of a catalog, in addition to the keys that are already registered. If a catalog with the same
    /// id is registered, its entries are replaced.
    ///
    /// The router checks the catalog from its keys alone, before it reads anything. The error for a refused catalog
    /// lists every problem.
    ///
    /// ```swift
    /// do {
    ///     let report = try await storage.registerCatalog(AppKeys(), migrateImmediately: true)
    ///     for row in report.blocked + report.failed { warn("\(row.key): \(row.message ?? "no message")") }
    /// } catch let error as StorageError {
    ///     for problem in error.catalogProblems { print(problem) }  // the catalog was refused, so none of its keys was registered
    /// }
    /// ```
    /// - Parameters:
    ///   - catalog: The keys.
    ///   - migrateImmediately: Whether to sweep the catalog at once: see ``sweep(_:progress:)``.
    /// - Returns: The report of the sweep, and the ``MigrationReport/problems`` for which no catalog is refused.
    ///   Without a sweep there are no rows.
    /// - Throws: ``StorageError``, with nothing registered and every problem in ``StorageError/catalogProblems``:
    ///   `duplicateKey`; `incompleteKey` for an empty owner or description; `invalidName`; `weakerProtection` for a key
    ///   below the catalog's ``StorageKeyCatalog/minimumProtection``; `unsupported` for a source that is also a key of
    ///   the program; `migrationFailed` for a cycle of sources. Errors of the sweep are not thrown, but listed in the
    ///   report: see ``MigrationReport/requireComplete()``.
    @concurrent
    @discardableResult
    public nonisolated func registerCatalog(
        _ catalog: some StorageKeyCatalog, migrateImmediately: Bool = false
    ) async throws -> MigrationReport {
        let finding = try await call("registerCatalog") { try await register(catalog) }
        var report = migrateImmediately ? await sweep(finding.entries, of: [catalog.id], progress: nil) : MigrationReport()
        report.problems = finding.problems
        return report
    }

    private nonisolated func register(_ catalog: some StorageKeyCatalog) async throws -> CatalogLint.Finding {
        let finding = try lint(catalog)
        let refusing = finding.problems.filter(\.kind.refusesCatalog)
        if !refusing.isEmpty { throw StorageError(refusing, of: catalog.id) }
        try history.registry.add(finding.entries, retired: finding.retired, catalog.id)
        for entry in finding.entries {
            for place in [(entry.key, entry.route)] + (try LegacyLocations(engine: engine).all(entry.key.sources, of: entry.route.slot)) {
                try stores.noteSealed(place.1)
            }
        }
        for problem in finding.problems {
            configuration.events.send(.catalogProblem, "A registered key has a problem.", ["problem": "\(problem)"])
        }
        return finding
    }

    /// The problems of a catalog, found from its keys alone. Reads and registers nothing.
    package nonisolated func problems(of catalog: some StorageKeyCatalog) throws -> [CatalogProblem] { try lint(catalog).problems }

    private nonisolated func lint(_ catalog: some StorageKeyCatalog) throws -> CatalogLint.Finding {
        // The check reports a chain that cannot be used, so its error is ignored here.
        let keys = catalog.allKeys.map { ((try? slots.routes.attached($0)) ?? $0).owned(by: catalog.owner) }
        return CatalogLint(
            engine: engine, catalog: catalog.id, minimum: catalog.minimumProtection
        ).check(
            keys, retired: catalog.retiredKeys.map { $0.owned(by: catalog.owner) })
    }

    /// Sweeps a catalog: moves the value of every key to its destination, purges older copies, and applies conflict
    /// policies. It opens no prompt. A key that fails does not stop the others.
    ///
    /// ```swift
    /// let report = await storage.sweep { progress in print("\(progress.finished) of \(progress.total) keys") }
    /// do {
    ///     try report.requireComplete()
    /// } catch StorageError.locked {
    ///     // Sweep again once the keyring is unlocked. The values that wait for it are in their previous locations.
    /// }
    /// ```
    /// - Parameters:
    ///   - catalog: The catalog to sweep, which the call registers first; nil for all registered catalogs. A catalog
    ///     that is refused becomes a failed row.
    ///   - progress: Called after each key and each record of a collection, from the sweep's tasks.
    @concurrent
    @discardableResult
    public nonisolated func sweep(
        _ catalog: (any StorageKeyCatalog)? = nil, progress: (@Sendable (MigrationProgress) -> Void)? = nil
    ) async -> MigrationReport {
        guard let catalog else { return await sweep(history.registry.entries(), of: history.registry.catalogs, progress: progress) }
        do { try await registerCatalog(catalog) } catch {
            let error = error as? StorageError
            let row = MigrationReport.Row(
                key: error?.keyName ?? catalog.id, owner: catalog.owner,
                to: catalog.allKeys.first { $0.name == error?.keyName }?.domain ?? .memory(), protection: .plain, bytes: 0, state: .failed,
                residue: [],
                message: error?.message ?? "The catalog could not be registered.", errorCode: error?.code, duration: .zero)
            return MigrationReport(rows: [row])
        }
        return await sweep(history.registry.entries(of: catalog.id), of: [catalog.id], progress: progress)
    }

    /// Returns the report that a sweep would have, without changing anything. It runs the sweep on stores that record
    /// writes instead of performing them.
    ///
    /// Conditions, transformations, chains, conflict policies and protection are tried on the live values. If the
    /// stores do not change in between, the sweep then reports the same rows, except for the durations. Custom
    /// migrations are not run. If a sweep would run one, the row has the state ``MigrationReport/State/cannotTell``.
    /// The recorded writes stay in memory until the call returns. It opens no prompt, and creates no store, file or
    /// key.
    ///
    /// ```swift
    /// try await storage.registerCatalog(AppKeys())
    /// let plan = await storage.planSweep()
    /// for row in plan.rows { print("\(row.key) would be \(row.state.rawValue), from \(row.from)") }
    /// for row in plan.failed { print("\(row.key) would fail: \(row.message ?? "")") }
    /// ```
    @concurrent
    public nonisolated func planSweep() async -> MigrationReport {
        let rehearsal = rehearsing()
        return await rehearsal.sweep()
    }

    /// Runs a key's migration now, even if the destination already contains a value, and applies the key's conflict
    /// policy.
    ///
    /// ```swift
    /// do { try await storage.forceMigration(for: .apiToken) } catch StorageError.locked {
    ///     try await storage.unlock(.keychain)  // may open a prompt
    ///     try await storage.forceMigration(for: .apiToken)
    /// }
    /// ```
    /// - Throws: ``StorageError``; the values then stay in their previous locations.
    @concurrent
    @discardableResult
    public nonisolated func forceMigration<Value>(for key: StorageKey<Value>) async throws -> MigrationResult {
        try await migrateNow(key, endsWindow: false)
    }

    private nonisolated func migrateNow<Value>(_ key: StorageKey<Value>, endsWindow: Bool) async throws -> MigrationResult {
        try await call("forceMigration", key, isStepwise: true) {
            let start = slots.runtime.clock.now
            let slot = try entry(key)
            var run = await program.run(.forced, slot.id)
            run.endsWindow = endsWindow
            let visit = try await settler.visit(slot, run)
            await history.ledger.flush()
            return MigrationResult(visit, key.name, start.duration(to: slots.runtime.clock.now))
        }
    }

    /// Ends the release window of a key, the time during which a legacy location is kept up to date. The router
    /// compares the legacy location with the value for the last time, and then empties the legacy location. Programs of
    /// this or a later release stop updating the legacy location. A program of an earlier release finds no value there
    /// any more. If the key has no window, or the window is over, this migrates the key as a sweep does.
    ///
    /// ```swift
    /// let result = try await storage.endReleaseWindow(for: .city)  // no older release runs any more
    /// print("The legacy location was emptied: \(result.isSuccess)")
    /// ```
    /// - Returns: The result of the run. A copy that could not be deleted is recorded, and a later sweep deletes it.
    /// - Throws: ``StorageError``; the values then stay in their previous locations.
    @concurrent
    @discardableResult
    public nonisolated func endReleaseWindow<Value>(for key: StorageKey<Value>) async throws -> MigrationResult {
        try await migrateNow(key, endsWindow: true)
    }

    /// Ends the release window of all records of a collection: see `endReleaseWindow(for:)` of a key.
    ///
    /// ```swift
    /// do {
    ///     print(try await storage.endReleaseWindow(in: notes).records ?? 0, "records were moved")
    /// } catch let error as StorageError where error.code == .migrationFailed {
    ///     print("The record \(error.keyName) could not be moved. All others were moved.")
    /// }
    /// ```
    /// - Returns: The result of the run. ``MigrationResult/records`` is the number of records that were moved, or whose
    ///   conflict was resolved.
    /// - Throws: ``StorageError``, which names the first record that could not be migrated. The other records are
    ///   migrated. A repeated call continues with the remaining records.
    @concurrent
    @discardableResult
    public nonisolated func endReleaseWindow<Record>(in collection: StorageCollection<Record>) async throws -> MigrationResult {
        try await call("endReleaseWindow", collection, isStepwise: true) {
            let start = slots.runtime.clock.now
            let slot = try entry(collection.placeholder)
            var run = await program.run(.forced, slot.id)
            run.endsWindow = true
            let work = try await RecordSettler(engine: engine).settle(collection, run)
            await history.ledger.flush()
            try work.throwFirst()
            return MigrationResult(
                success: true, key: collection.name, records: work.moved + work.reconciled, bytes: work.bytes,
                duration: start.duration(to: slots.runtime.clock.now))
        }
    }

    /// Requests the end of a collection's release window: see `requestReleaseWindowEnd(for:)` of a key.
    /// - Throws: ``StorageError`` when the migration ledger, which stores the request, cannot be written.
    package nonisolated func requestReleaseWindowEnd<Record>(in collection: StorageCollection<Record>) async throws {
        try await call("requestReleaseWindowEnd", collection) { try await requestReleaseWindowEnd(for: collection.placeholder) }
    }

    /// Requests the end of a key's release window. The program that declares the window then ends it in its next sweep,
    /// as `endReleaseWindow(for:)` does. The request is durable when this returns. It is for tools, which do not have
    /// the key's migrations.
    /// - Parameter key: A key of the value's destination.
    /// - Throws: ``StorageError`` when the ledger cannot be written.
    package nonisolated func requestReleaseWindowEnd<Value>(for key: StorageKey<Value>) async throws {
        try await call("requestReleaseWindowEnd", key) {
            let route = try slots.routes.slot(for: key).route
            try await translatingErrors(key: key.name) { () throws(BackendError) in try await history.ledger.requestRelease(of: route) }
        }
    }

    nonisolated func sweep(
        _ entries: [KeyRegistry.Entry], of catalogs: [String]? = nil, progress: (@Sendable (MigrationProgress) -> Void)?
    ) async -> MigrationReport {
        var report: MigrationReport?
        // The sweep throws nothing. An error of an instrument must not hide its report.
        try? await call("sweep") { report = await performSweep(entries, of: catalogs, progress: progress) }
        return if let report { report } else { await performSweep(entries, of: catalogs, progress: progress) }
    }

    private nonisolated func performSweep(
        _ entries: [KeyRegistry.Entry], of catalogs: [String]?, progress: (@Sendable (MigrationProgress) -> Void)?
    ) async -> MigrationReport {
        let start = slots.runtime.clock.now
        await history.ledger.look()
        var report = await Sweep(engine: engine).run(entries, progress: progress)
        report.rows += await RetiredRows(engine: engine).rows(of: catalogs ?? Set(entries.map(\.catalog)).sorted())
        if report.isComplete, let version = configuration.applicationVersion {
            for catalog in Set(entries.map(\.catalog)) { history.ledger.completed(version: version, catalog) }
        }
        await history.ledger.flush()
        for row in report.rows {
            if let code = row.errorCode { failures.note(code, of: row.to, at: configuration.runtime.clock.wallSeconds) }
        }
        report.duration = start.duration(to: slots.runtime.clock.now)
        history.events.send(
            .sweepEnded(
                isComplete: report.isComplete, keys: report.rows.count, moved: report.moved.count, blocked: report.blocked.count,
                failed: report.failed.count),
            report.isComplete ? "A sweep is complete." : "A sweep is not complete.",
            ["keys": "\(report.rows.count)", "blocked": "\(report.blocked.count)", "failed": "\(report.failed.count)"])
        return report
    }
}
