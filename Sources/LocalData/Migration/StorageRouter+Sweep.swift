import BackendContract
import BackendRuntime
import Logging
import Synchronization

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
        for key in catalog.allKeys { entries.append(try entry(key, of: catalog)) }
        try engine.registry.add(entries)
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
        let route = try engine.routes.route(for: key)
        guard route.protection >= catalog.minimumProtection else {
            throw StorageError(
                StorageError.weakerProtection, key: key.name,
                "\(catalog.id) demands the protection \(catalog.minimumProtection); \(route.domain) with the policy \(key.security) gives \(route.protection). Nothing was registered."
            )
        }
        let direct = key.olderPlaces
        let sources = try direct.map { try engine.routes.route(for: $0).slot }
        let reach = try engine.allSources(direct, route).map(\.route.slot)
        return KeyRegistry.Entry(
            key: key, route: route, sources: Set(sources).subtracting([route.slot]), reach: Set(reach), catalog: catalog.id)
    }

    /// Brings every key of the registered catalogs to its place, collects older copies, and applies conflict policies. It opens no prompt, and one bad key stops no other.
    /// - Parameter progress: Called after each key, from the sweep's own tasks.
    @discardableResult
    public func sweep(progress: (@Sendable (MigrationProgress) -> Void)? = nil) async -> MigrationReport {
        await sweep(engine.registry.entries(), progress: progress)
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
        return await sweep(engine.registry.entries(of: catalog.id), progress: progress)
    }

    /// What a sweep would do, without writing anything.
    public func planSweep() async -> MigrationReport {
        var rows: [MigrationReport.Row] = []
        for entry in engine.registry.entries() { rows.append(await engine.plannedRow(entry)) }
        return MigrationReport(rows: rows)
    }

    /// Runs a key's migration now, whatever stands at its destination, and applies its conflict policy.
    /// - Throws: ``StorageError``; the values are then where they were.
    @discardableResult
    public func forceMigration<Value>(for key: StorageKey<Value>) async throws -> MigrationResult {
        let engine = engine
        let start = engine.runtime.clock.now
        let route = try engine.routes.entryRoute(for: key)
        let visit = try await engine.unbroken {
            try await engine.lanes.withLane(route.slot, keyName: key.name) {
                try await engine.settle(key, route, try await engine.context(.forced, route))
            }
        }
        await engine.ledger.flush()
        return MigrationResult(
            success: true, key: key.name, source: visit.from, bytes: visit.bytes, duration: start.duration(to: engine.runtime.clock.now),
            metadata: ["state": visit.state.rawValue])
    }

    func sweep(_ entries: [KeyRegistry.Entry], progress: (@Sendable (MigrationProgress) -> Void)?) async -> MigrationReport {
        let start = engine.runtime.clock.now
        await engine.ledger.look()
        let report = await engine.sweep(entries, progress: progress)
        if report.isComplete, let version = configuration.applicationVersion {
            for catalog in Set(entries.map(\.catalog)) { engine.ledger.completed(version: version, catalog) }
        }
        await engine.ledger.flush()
        let seconds = Double(start.duration(to: engine.runtime.clock.now).wholeNanoseconds) / 1e9
        if !report.isComplete {
            configuration.logger.notice(
                "A sweep is not complete.",
                metadata: ["keys": "\(report.rows.count)", "blocked": "\(report.blocked.count)", "failed": "\(report.failed.count)"])
        }
        return MigrationReport(rows: report.rows, seconds: seconds)
    }
}

extension MigrationEngine {
    /// Visits keys, as many at once as their stores can use.
    func sweep(_ entries: [KeyRegistry.Entry], progress: (@Sendable (MigrationProgress) -> Void)?) async -> MigrationReport {
        let counter = Mutex(MigrationProgress(finished: 0, total: entries.count, moved: 0, key: ""))
        let rows = await visit(entries) { entry in
            let row = await self.sweptRow(entry)
            if let progress {
                // The callback is called in the order of the counting, one call at a time.
                counter.withLock { counter in
                    counter.finished += 1
                    counter.key = row.key
                    if row.state == .moved || row.state == .converted { counter.moved += 1 }
                    progress(counter)
                }
            }
            return row
        }
        // A copy that several keys shared could not go before the last of them had its value: those rows are looked at once more.
        let again = zip(entries, rows).filter { !$1.residue.isEmpty }
        if again.isEmpty { return MigrationReport(rows: rows) }
        var settled = rows
        for (entry, old) in again {
            let row = await sweptRow(entry)
            guard let index = settled.firstIndex(where: { $0.key == old.key && $0.to == old.to }) else { continue }
            // A second look that could not be taken says nothing about what remains.
            if row.state == .blocked || row.state == .failed { continue }
            settled[index].residue = row.residue
            settled[index].message = row.message
        }
        return MigrationReport(rows: settled)
    }

    private func visit(
        _ entries: [KeyRegistry.Entry], _ work: @escaping @Sendable (KeyRegistry.Entry) async -> MigrationReport.Row
    ) async -> [MigrationReport.Row] {
        // Keys that touch a slow store share its few places; the others do not wait for them.
        var groups: [BackendIdentity: (limit: Int, indices: [Int])] = [:]
        for (index, entry) in entries.enumerated() {
            let stores = [entry.route] + entry.key.olderPlaces.compactMap { try? routes.route(for: $0) }
            guard let slowest = stores.min(by: { $0.capabilities.usefulConcurrency < $1.capabilities.usefulConcurrency }) else { continue }
            groups[slowest.slot.store, default: (max(1, slowest.capabilities.usefulConcurrency), [])].indices.append(index)
        }
        return await withTaskGroup(of: [(Int, MigrationReport.Row)].self) { group in
            for (limit, indices) in groups.values.sorted(by: { $0.indices[0] < $1.indices[0] }) {
                group.addTask {
                    await withTaskGroup(of: (Int, MigrationReport.Row).self) { window in
                        var rows: [(Int, MigrationReport.Row)] = []
                        var next = indices.makeIterator()
                        for _ in 0..<limit {
                            guard let index = next.next() else { break }
                            window.addTask { (index, await work(entries[index])) }
                        }
                        for await row in window {
                            rows.append(row)
                            if let index = next.next() { window.addTask { (index, await work(entries[index])) } }
                        }
                        return rows
                    }
                }
            }
            var rows = [MigrationReport.Row?](repeating: nil, count: entries.count)
            for await part in group { for (index, row) in part { rows[index] = row } }
            return rows.compactMap(\.self)
        }
    }

    private func sweptRow(_ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        if let collection = entry.key.collection { return await sweptRow(of: collection, entry) }
        return await sweptRow(opening: entry.key.base, entry)
    }

    private func sweptRow<Key: TypedKey>(opening key: Key, _ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        let start = runtime.clock.now
        var row = MigrationReport.Row(
            key: entry.key.name, owner: entry.key.owner, to: "\(entry.route.domain)", protection: entry.route.protection, bytes: 0,
            state: .unchanged,
            residue: [], seconds: 0)
        do {
            let visit = try await unbroken {
                try await self.lanes.withLane(entry.route.slot, keyName: entry.key.name) {
                    try await self.settle(key.typed, entry.route, try await self.context(.sweep, entry.route))
                }
            }
            row.state = visit.state
            row.from = visit.from
            row.protectionBefore = visit.protectionBefore
            row.bytes = visit.bytes
            row.residue = visit.residue
            row.message = visit.message
        } catch let error as StorageError {
            row.state = Self.isPassing(error) ? .blocked : .failed
            row.message = error.message
            row.errorCode = error.code.name
        } catch {
            row.state = .blocked
            row.message = "The sweep was cancelled."
            row.errorCode = StorageError.cancelled.name
        }
        row.seconds = Double(start.duration(to: runtime.clock.now).wholeNanoseconds) / 1e9
        return row
    }

    /// Whether an error says "not now" rather than "not so".
    static func isPassing(_ error: StorageError) -> Bool {
        [
            StorageError.locked, StorageError.unavailable, StorageError.timedOut, StorageError.promptDismissed, StorageError.cancelled,
            StorageError.conflict,
        ]
        .contains(error.code)
    }
}
