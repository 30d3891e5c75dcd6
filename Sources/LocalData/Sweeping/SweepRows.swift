import BackendContract
import BackendRuntime

/// Settles the entries of a catalog in a sweep, and makes a report row for each. In a rehearsal, a row reports what the sweep would do.
struct SweepRows: EnginePart, Sendable {
    let engine: Engine

    /// Settles an entry (a key or a collection) and returns its row.
    /// - Parameter recordsDone: Called with the number of records of a collection that were settled since the last call.
    func sweep(
        _ entry: KeyRegistry.Entry, recordsDone: @escaping @Sendable (Int) -> Void = { _ in }
    ) async -> MigrationReport.Row {
        let start = slots.runtime.clock.now
        var run = await program.run(.sweep, entry.route.slot)
        run.recordsDone = recordsDone
        let journal = StepJournal()
        var row = await StepJournal.$current.withValue(journal) { [run] in
            await self.row(entry) { row in
                if let collection = entry.key.collection {
                    try await sweep(collection, entry, run, &row)
                } else {
                    try await sweep(entry.key.base, entry, run, &row)
                }
            }
        }
        row.steps = journal.steps
        let isConflict = entry.key.collection == nil ? row.state == .resolved : row.steps.contains { $0.action == .quarantine }
        if isConflict { row.conflict = MigrationReport.Conflict(row.steps, at: entry.route.displayName) }
        row.duration = start.duration(to: slots.runtime.clock.now)
        return row
    }

    private func sweep<Key: TypedKey>(
        _ key: Key, _ entry: KeyRegistry.Entry, _ run: MigrationRun, _ row: inout MigrationReport.Row
    ) async throws {
        let visit = try await Settler(engine: engine).visit(Slot(key: key.typed, route: entry.route), run)
        row.state = visit.state
        row.from = visit.from
        row.protectionBefore = visit.protectionBefore
        row.bytes = visit.bytes
        row.residue = visit.residue
        row.message = visit.message
        row.errorCode = visit.errorCode
        row.keeps = await mirroredLocations.copy(of: UntypedSlot(key: key, route: entry.route))
    }

    private func sweep<Collection: TypedCollection>(
        _ collection: Collection, _ entry: KeyRegistry.Entry, _ run: MigrationRun, _ row: inout MigrationReport.Row
    ) async throws {
        let work = try await RecordSettler(engine: engine).settle(collection.typed, run)
        row.records = work.moved + work.converted + work.expired + work.reconciled
        row.bytes = work.bytes
        row.residue = work.residue
        row.state =
            work.moved > 0
            ? .moved
            : work.converted > 0 ? .converted : work.reconciled > 0 ? .resolved : work.expired + work.waiting > 0 ? .expired : .unchanged
        let kept = await mirroredLocations.copy(of: collection.typed)
        row.keeps = kept
        if row.state == .unchanged, kept != nil { row.state = .mirrored }
        if let first = work.pending.first {
            row.state = .pending
            row.message = "\(work.pending.count) of its records are pending. \(first.message ?? "")"
            row.errorCode = first.errorCode
        }
        if work.waiting > 0 {
            row.message =
                "\(work.waiting) of its records have expired. A sweep removes each a day after a sweep first found it expired. Until then, it returns if the clock is set back."
        }
        if work.moved > 0 { row.from = entry.key.legacyLocations.map { StoragePlace($0.domain, $0.name) } }
        try work.throwFirst()
    }

    /// Returns the number of records that a sweep of a collection settles; nil for a single key, and if they cannot be counted now.
    func recordCount(_ entry: KeyRegistry.Entry) async -> Int? {
        func count<Collection: TypedCollection>(_ collection: Collection) async throws -> Int {
            try await RecordQueries(engine: engine).countAll(collection.typed, .all)
                + RecordGatherer(engine: engine).pending(collection.typed)
        }
        guard let collection = entry.key.collection else { return nil }
        return try? await count(collection)
    }

    // MARK: Rows

    private func row(
        _ entry: KeyRegistry.Entry, _ fill: (inout MigrationReport.Row) async throws -> Void
    ) async -> MigrationReport.Row {
        var row = MigrationReport.Row(entry)
        do { try await fill(&row) } catch let error as StorageError {
            // In a plan, the effect of the program's code is unknown. In a sweep, it is unknown whether a value exists.
            let unknown = program.rehearsal == nil ? MigrationReport.State.blocked : .cannotTell
            row.state = error.code == StorageError.cannotTell ? unknown : error.isTransient ? .blocked : .failed
            row.message = error.message
            row.errorCode = error.code
        } catch {
            row.state = .blocked
            row.message = "The sweep was cancelled."
            row.errorCode = StorageError.cancelled
        }
        return row
    }
}

extension MigrationReport.Row {
    /// Creates the row of an entry that has not been settled yet.
    init(_ entry: KeyRegistry.Entry) {
        self.init(
            key: entry.key.name, owner: entry.key.owner ?? "", to: entry.route.domain, protection: entry.route.protection, bytes: 0,
            state: .unchanged, residue: [], duration: .zero)
    }
}
