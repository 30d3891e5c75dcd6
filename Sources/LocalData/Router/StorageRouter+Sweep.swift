import BackendContract
import BackendRuntime
import Logging

extension StorageRouter {
    /// Registers the keys of a catalog, in addition to those registered before; registering a catalog of the same id again replaces its keys' entries.
    /// - Parameters:
    ///   - catalog: The keys.
    ///   - migrateImmediately: Whether to sweep the catalog at once.
    /// - Returns: What the sweep found and did; without one, an empty report.
    /// - Throws: ``StorageError``, with nothing registered: `duplicateKey`, `incompleteKey` for an empty owner or description, `invalidName`, `weakerProtection` for a key
    ///   below the catalog's ``StorageKeyCatalog/minimumProtection``. What the sweep meets is in the report, not thrown: see ``MigrationReport/requireComplete()``.
    @discardableResult
    public func registerCatalog(_ catalog: some StorageKeyCatalog, migrateImmediately: Bool = false) async throws -> MigrationReport {
        var entries: [KeyRegistry.Entry] = []
        for key in catalog.allKeys { entries.append(try entry(try env.routes.attached(key), of: catalog)) }
        try env.registry.add(entries)
        for entry in entries {
            for place in [(entry.key, entry.route)] + (try LegacyLocations(env).all(entry.key.sources, of: entry.route.slot)) {
                try wiring.noteSealed(place.1)
            }
        }
        return migrateImmediately ? await sweep(entries, progress: nil) : MigrationReport()
    }

    private func entry(_ key: AnyStorageKey, of catalog: some StorageKeyCatalog) throws -> KeyRegistry.Entry {
        func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }
        if isBlank(key.owner) || isBlank(key.description) {
            throw StorageError(
                StorageError.incompleteKey, key: key.name,
                "The key's \(isBlank(key.owner) ? "owner" : "description") is empty. Say who answers for the value and what it is; nothing was registered."
            )
        }
        let route = try env.routes.route(for: key)
        guard route.protection >= catalog.minimumProtection else {
            throw StorageError(
                StorageError.weakerProtection, key: key.name,
                "\(catalog.id) demands the protection \(catalog.minimumProtection); \(route.domain) with the policy \(key.security) gives \(route.protection). Nothing was registered."
            )
        }
        let direct = key.sources
        let sources = try direct.map { try env.routes.route(for: $0).slot }
        let reach = try LegacyLocations(env).all(direct, of: route.slot).map(\.route.slot)
        return KeyRegistry.Entry(
            key: key, route: route, sources: Set(sources).subtracting([route.slot]), reach: Set(reach), catalog: catalog.id)
    }

    /// Brings every key of the registered catalogs to its place, collects older copies, and applies conflict policies. It opens no prompt, and one bad key stops no other.
    /// - Parameter progress: Called after each key, from the sweep's own tasks.
    @discardableResult
    public func sweep(progress: (@Sendable (MigrationProgress) -> Void)? = nil) async -> MigrationReport {
        await sweep(env.registry.entries(), progress: progress)
    }

    /// Sweeps one catalog, registered or not.
    /// - Parameters:
    ///   - catalog: The catalog. Its keys are registered if they can be; a catalog that is refused is reported as failed.
    ///   - progress: Called after each key, from the sweep's own tasks.
    @discardableResult
    public func sweep(_ catalog: some StorageKeyCatalog, progress: (@Sendable (MigrationProgress) -> Void)? = nil) async -> MigrationReport
    {
        do { try await registerCatalog(catalog) } catch {
            let error = error as? StorageError
            let row = MigrationReport.Row(
                key: error?.keyName ?? catalog.id, owner: catalog.id, to: catalog.id, protection: .plain, bytes: 0, state: .failed,
                residue: [],
                message: error?.message ?? "The catalog could not be registered.", errorCode: error?.code.name, seconds: 0)
            return MigrationReport(rows: [row])
        }
        return await sweep(env.registry.entries(of: catalog.id), progress: progress)
    }

    /// What a sweep would do, without writing anything. No migration is run; of a key with a chain of versions the steps are, on a copy.
    public func planSweep() async -> MigrationReport {
        var rows: [MigrationReport.Row] = []
        for entry in env.registry.entries() { rows.append(await SweepRows(env).plan(entry)) }
        return MigrationReport(rows: rows)
    }

    /// Runs a key's migration now, whatever its destination holds, and applies its conflict policy.
    /// - Throws: ``StorageError``; the values are then where they were.
    @discardableResult
    public func forceMigration<Value>(for key: StorageKey<Value>) async throws -> MigrationResult {
        let start = env.runtime.clock.now
        let slot = try entry(key)
        let visit = try await Settler(env).visit(slot, await env.run(.forced, slot.id, self))
        await env.ledger.flush()
        return MigrationResult(visit, key.name, start.duration(to: env.runtime.clock.now))
    }

    nonisolated func sweep(
        _ entries: [KeyRegistry.Entry], progress: (@Sendable (MigrationProgress) -> Void)?
    ) async -> MigrationReport {
        let start = env.runtime.clock.now
        await env.ledger.look()
        var report = await Sweep(env, self).run(entries, progress: progress)
        if report.isComplete, let version = configuration.applicationVersion {
            for catalog in Set(entries.map(\.catalog)) { env.ledger.completed(version: version, catalog) }
        }
        await env.ledger.flush()
        report.seconds = Double(start.duration(to: env.runtime.clock.now).wholeNanoseconds) / 1e9
        if !report.isComplete {
            configuration.logger.notice(
                "A sweep is not complete.",
                metadata: ["keys": "\(report.rows.count)", "blocked": "\(report.blocked.count)", "failed": "\(report.failed.count)"])
        }
        return report
    }
}
