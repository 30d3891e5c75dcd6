import BackendContract
import BackendRuntime

/// What a sweep does with each entry, and what it would do: a row each.
struct SweepRows: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    // MARK: Sweeping

    /// Brings an entry's values to their place and shape.
    func sweep(_ entry: KeyRegistry.Entry, _ host: any MigrationHost) async -> MigrationReport.Row {
        let start = env.runtime.clock.now
        let run = await env.run(.sweep, entry.route.slot, host)
        var row = await self.row(entry) { row in
            if let collection = entry.key.collection {
                try await sweep(collection, entry, run, &row)
            } else {
                try await sweep(entry.key.base, entry, run, &row)
            }
        }
        row.seconds = Double(start.duration(to: env.runtime.clock.now).wholeNanoseconds) / 1e9
        return row
    }

    private func sweep<Key: TypedKey>(
        _ key: Key, _ entry: KeyRegistry.Entry, _ run: MigrationRun, _ row: inout MigrationReport.Row
    ) async throws {
        let visit = try await Settler(env).visit(Slot(key: key.typed, route: entry.route), run)
        row.state = visit.state
        row.from = visit.from
        row.protectionBefore = visit.protectionBefore
        row.bytes = visit.bytes
        row.residue = visit.residue
        row.message = visit.message
    }

    private func sweep<Collection: TypedCollection>(
        _ collection: Collection, _ entry: KeyRegistry.Entry, _ run: MigrationRun, _ row: inout MigrationReport.Row
    ) async throws {
        let work = try await RecordSettler(env).settle(collection.typed, run)
        row.records = work.moved + work.converted + work.expired + work.reconciled
        row.bytes = work.bytes
        row.residue = work.residue
        row.state =
            work.moved > 0
            ? .moved
            : work.converted > 0 ? .converted : work.reconciled > 0 ? .resolved : work.expired + work.waiting > 0 ? .expired : .unchanged
        if work.waiting > 0 {
            row.message =
                "The lifetime of \(work.waiting) records is over. A sweep removes them a day after one first found them so; until then they come back if the clock is set back."
        }
        if work.moved > 0 { row.from = entry.key.legacyLocations.map { "\($0.domain)/\($0.name)" }.joined(separator: " + ") }
        try work.throwFirst()
    }

    // MARK: Planning

    /// What a sweep would do with an entry.
    func plan(_ entry: KeyRegistry.Entry) async -> MigrationReport.Row {
        await row(entry) { row in
            if let collection = entry.key.collection {
                let records = try await pending(collection)
                row.records = records
                row.state = records > 0 ? .pending : .unchanged
            } else {
                await plan(entry.key.base, entry, &row)
            }
        }
    }

    private func pending<Collection: TypedCollection>(_ collection: Collection) async throws -> Int {
        let collection = collection.typed
        var records = try await RecordGatherer(env).pending(collection)
        for version in collection.template.evolution?.older ?? [] {
            records += try await RecordQueries(env).count(collection, version: version)
        }
        return records
    }

    private func plan<Key: TypedKey>(_ key: Key, _ entry: KeyRegistry.Entry, _ row: inout MigrationReport.Row) async {
        let found = await Inspector(env).inspect(Slot(key: key.typed, route: entry.route))
        let copies = found.older.map(\.copy)
        if !copies.isEmpty { row.from = copies.map(\.route.displayName).joined(separator: " + ") }
        row.protectionBefore = copies.map(\.route.protection).min()
        row.bytes = found.record?.payload.byteCount ?? copies.first?.record.payload.byteCount ?? 0
        row.state = found.state
        row.residue = found.older.filter(\.isCopy).map(\.copy.route.displayName)
        row.message = found.error?.message
        row.errorCode = found.error?.code.name
    }

    // MARK: Rows

    private func row(
        _ entry: KeyRegistry.Entry, _ fill: (inout MigrationReport.Row) async throws -> Void
    ) async -> MigrationReport.Row {
        var row = MigrationReport.Row(
            key: entry.key.name, owner: entry.key.owner, to: "\(entry.route.domain)", protection: entry.route.protection, bytes: 0,
            state: .unchanged, residue: [], seconds: 0)
        do { try await fill(&row) } catch let error as StorageError {
            row.state = error.isTransient ? .blocked : .failed
            row.message = error.message
            row.errorCode = error.code.name
        } catch {
            row.state = .blocked
            row.message = "The sweep was cancelled."
            row.errorCode = StorageError.cancelled.name
        }
        return row
    }
}
