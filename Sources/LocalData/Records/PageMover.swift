import BackendContract
import BackendRuntime

/// Moves the values of many keys from one store to another, with one call to a store for each step of the protocol.
///
/// In a first sweep, most keys have an empty destination and a value in one legacy location. They are moved in pages.
/// The steps and their order are those of ``Mover``: read the sources, write where the destinations are empty, read the
/// values back, delete the sources. A key leaves its page if it needs another step, or if a step of the page fails. The
/// sweep then visits it, and decides by the content that its slots have at that time.
struct PageMover: EnginePart, Sendable {
    typealias Candidate = SettledEntries.Candidate

    let engine: Engine

    private var origins: Origins { Origins(engine: engine) }

    /// The maximum number of keys of a page.
    private static let count = 1_024
    /// How many sources are read at once, because the size of their values is not known before.
    private static let chunk = 16
    /// The size of values that ends a commit, in bytes. A key with a larger value is visited.
    private static let bytes = 4 << 20

    /// A key whose value can be moved in a page.
    private struct Move: Sendable {
        let candidate: Candidate
        let copy: SourceRecord
        let change: Committer.Change
        let migration: String
        /// Checks the value that was read back.
        let check: @Sendable (StorageRecord) async throws -> Void

        var destination: Route { candidate.entry.route }
    }

    /// Returns the pages of entries whose destinations were empty: those that can be moved together.
    func pages(of candidates: [Candidate]) -> [[Candidate]] {
        let pairs = Dictionary(grouping: candidates.filter(isMovable)) { [$0.sources[0].route.slot.store, $0.entry.route.slot.store] }
        return pairs.values.sorted { $0[0].index < $1[0].index }.flatMap { part in
            stride(from: 0, to: part.count, by: Self.count).map { Array(part[$0..<min(part.count, $0 + Self.count)]) }
        }
    }

    /// Moves the values of a page.
    /// - Returns: The rows of the entries that were moved, by the positions of the entries.
    func rows(of page: [Candidate]) async -> [(Int, MigrationReport.Row)] {
        (try? await slots.unbroken { [self] in
            try await slots.lanes.withLanes(page.map(\.entry.route.slot), keyName: page[0].entry.key.name) {
                // The steps of a page are noted for each key.
                await StepJournal.$current.withValue(nil) { await moveInLanes(page) }
            }
        }) ?? []
    }

    /// Whether a key has one migration and one legacy location, and no other key uses its two slots.
    private func isMovable(_ candidate: Candidate) -> Bool {
        let (source, route) = (candidate.sources.first, candidate.entry.route)
        guard let source, candidate.sources.count == 1, candidate.entry.key.migrations.count == 1 else { return false }
        return !source.key.base.hasMigration && route.capabilities.atomicBatch && !history.registry.contains(source.route.slot)
            && history.registry.entries(naming: source.route.slot, except: route.slot).isEmpty
            && history.registry.entries(naming: route.slot, except: route.slot).isEmpty
    }

    private func moveInLanes(_ page: [Candidate]) async -> [(Int, MigrationReport.Row)] {
        var (rows, moves, size): ([(Int, MigrationReport.Row)], [Move], Int) = ([], [], 0)
        for start in stride(from: 0, to: page.count, by: Self.chunk) {
            let chunk = page[start..<min(page.count, start + Self.chunk)]
            let probes = (try? await Route.read(chunk.map { $0.sources[0].route }, .validated)) ?? []
            for (candidate, probe) in zip(chunk, probes) {
                guard case .value(let record) = probe, record.payload.byteCount < Self.bytes,
                    let move = try? await move(candidate.entry.key.base, candidate, record)
                else { continue }
                size += record.payload.byteCount
                moves.append(move)
            }
            if size < Self.bytes, chunk.endIndex < page.endIndex { continue }
            rows += (try? await commit(moves)) ?? []
            (moves, size) = ([], 0)
        }
        return rows
    }

    private func commit(_ moves: [Move]) async throws -> [(Int, MigrationReport.Row)] {
        let start = slots.runtime.clock.now
        if let foreign = moves.first(where: { $0.copy.record.isForeign && $0.candidate.entry.key.base.mayLoseConflicts }) {
            try await origins.requireLasting(
                [foreign.copy], for: UntypedSlot(key: foreign.candidate.entry.key.base, route: foreign.destination))
        }
        let receipt = try await slots.committer.commit(moves.map(\.change), readsBack: true) { try await moves[$0].check($1) }
        guard receipt.isCommitted else { return [] }
        let residues = await ResiduePurger(engine: engine).purgeTogether(
            moves.map(\.copy), for: moves.map(\.destination), achieved: receipt.durability)
        let each = start.duration(to: slots.runtime.clock.now) / max(1, moves.count)
        return zip(moves, residues).map { move, residue in
            history.ledger.moved(to: move.destination, from: [move.copy.route], by: move.migration)
            return (move.candidate.index, row(of: move, residue, each))
        }
    }

    /// Prepares the move of a value; nil for a key that needs a visit.
    private func move<Key: TypedKey>(_ key: Key, _ candidate: Candidate, _ record: StorageRecord) async throws -> Move? {
        let slot = Slot(key: key.typed, route: candidate.entry.route)
        guard !coder.isExpired(record), record.metadata.origin == nil,
            let step = candidate.entry.key.migrations.first?.step(for: Key.Value.self),
            step.condition == nil, !step.isAggregating, !step.keepsSources, step.sources.count == 1
        else { return nil }
        try Mover(engine: engine).checkProtection(of: step.sources, step.options, slot.untyped)
        let (copy, read) = try await read(candidate.sources[0].key.base, candidate.sources[0].route, record)
        guard let value = try step.combine([read]) else { return nil }
        let prepared = try ValuePreparer(engine: engine).prepare(value, slot, .carried(from: [record.metadata]))
        guard prepared.references.isEmpty else { return nil }
        let origin = try await origins.made(of: [copy], migration: step.id, for: slot.route)
        let operation = try await coder.complete(prepared, origin: origin).operation
        return Move(
            candidate: candidate, copy: copy, change: Committer.Change(operation, slot.route, if: .absent), migration: step.id
        ) { [self] found in _ = try await coder.decode(found, slot) }
    }

    private func read<Key: TypedKey>(_ key: Key, _ route: Route, _ record: StorageRecord) async throws -> (SourceRecord, any Sendable) {
        let slot = Slot(key: key.typed, route: route)
        return (SourceRecord(slot, record), try await coder.read(record, slot).value)
    }

    private func row(of move: Move, _ residue: [String], _ duration: Duration) -> MigrationReport.Row {
        let journal = StepJournal()
        journal.add(.write, move.destination)
        if residue.isEmpty { journal.add(.delete, move.copy.route) }
        var row = MigrationReport.Row(move.candidate.entry)
        row.state = .moved
        row.from = [move.copy.route.reported]
        row.protectionBefore = move.copy.route.protection
        row.bytes = move.change.mutation.payloadSize
        row.residue = residue
        row.steps = journal.steps
        row.duration = duration
        return row
    }
}
