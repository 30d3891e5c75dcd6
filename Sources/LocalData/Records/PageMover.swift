import BackendContract
import BackendRuntime

/// Moves the values of many keys from one store to another, with one call to a store for each step of the protocol.
///
/// In a first sweep, most keys have an empty destination and a value in one legacy location. They are moved in pages.
/// The steps and their order are those of ``Mover``: read the sources, write where the destinations are empty, read the
/// values back, delete the sources. A key leaves its page if it needs another step, or if a step of the page fails. The
/// sweep then visits it, and decides by the content that its slots have at that time.
struct PageMover: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// The maximum number of keys of a page.
    private static let count = 1_024
    /// The maximum size of the values of a page, in bytes.
    private static let bytes = 4 << 20

    /// A key whose value can be moved in a page.
    private struct Move: Sendable {
        let candidate: SettledEntries.Candidate
        let copy: SourceRecord
        let change: Committer.Change
        let migration: String
        /// Checks the value that was read back.
        let check: @Sendable (StorageRecord) async throws -> Void

        var destination: Route { candidate.entry.route }
    }

    /// Returns the pages of entries whose destinations were empty: those that can be moved together.
    func pages(of candidates: [SettledEntries.Candidate]) -> [[SettledEntries.Candidate]] {
        let movable = candidates.filter(isMovable)
        let pairs = Self.parts(movable) { $0.sources[0].route }.flatMap { Self.parts($0, by: \.entry.route) }
        return pairs.flatMap { part in
            stride(from: 0, to: part.count, by: Self.count).map { Array(part[$0..<min(part.count, $0 + Self.count)]) }
        }
    }

    private static func parts(
        _ candidates: [SettledEntries.Candidate], by route: (SettledEntries.Candidate) -> Route
    ) -> [[SettledEntries.Candidate]] {
        Route.partsByStore(candidates.map(route)).map { part in part.map { candidates[$0] } }
    }

    /// Moves the values of a page.
    /// - Returns: The rows of the entries that were moved, by the positions of the entries.
    func rows(of page: [SettledEntries.Candidate]) async -> [(Int, MigrationReport.Row)] { (try? await move(page)) ?? [] }

    /// Whether a key has one migration and one legacy location, and no other key uses its two slots.
    private func isMovable(_ candidate: SettledEntries.Candidate) -> Bool {
        let (source, route) = (candidate.sources.first, candidate.entry.route)
        guard let source, candidate.sources.count == 1, candidate.entry.key.migrations.count == 1 else { return false }
        return !source.key.base.hasMigration && route.capabilities.atomicBatch && !env.registry.contains(source.route.slot)
            && env.registry.entries(naming: source.route.slot, except: route.slot).isEmpty
            && env.registry.entries(naming: route.slot, except: route.slot).isEmpty
    }

    private func move(_ page: [SettledEntries.Candidate]) async throws -> [(Int, MigrationReport.Row)] {
        try await env.unbroken { [self] in
            try await env.lanes.withLanes(page.map(\.entry.route.slot), keyName: page[0].entry.key.name) {
                // The steps of a page are noted for each key.
                try await StepJournal.$current.withValue(nil) { try await moveInLanes(page) }
            }
        }
    }

    private func moveInLanes(_ page: [SettledEntries.Candidate]) async throws -> [(Int, MigrationReport.Row)] {
        let start = env.runtime.clock.now
        var moves: [Move] = []
        var size = 0
        for (candidate, probe) in zip(page, try await Route.read(page.map { $0.sources[0].route }, .validated)) {
            guard case .value(let record) = probe, size + record.payload.byteCount <= Self.bytes,
                let move = try? await self.move(candidate.entry.key.base, candidate, record)
            else { continue }
            size += record.payload.byteCount
            moves.append(move)
        }
        if let foreign = moves.first(where: { $0.copy.record.isForeign && $0.candidate.entry.key.base.mayLoseConflicts }) {
            try await Origins(env).requireLasting(
                [foreign.copy], for: UntypedSlot(key: foreign.candidate.entry.key.base, route: foreign.destination))
        }
        let receipt = try await env.committer.commit(moves.map(\.change), readsBack: true) { try await moves[$0].check($1) }
        guard receipt.isCommitted else { return [] }
        let residues = await ResiduePurger(env).purgeTogether(
            moves.map(\.copy), for: moves.map(\.destination), achieved: receipt.durability)
        let each = start.duration(to: env.runtime.clock.now) / max(1, moves.count)
        return zip(moves, residues).map { move, residue in
            env.ledger.worked(move.migration)
            env.ledger.brought(move.destination, from: [move.copy.route], by: move.migration)
            return (move.candidate.index, row(of: move, residue, each))
        }
    }

    /// Prepares the move of a value; nil for a key that needs a visit.
    private func move<Key: TypedKey>(
        _ key: Key, _ candidate: SettledEntries.Candidate, _ record: StorageRecord
    ) async throws -> Move? {
        let slot = Slot(key: key.typed, route: candidate.entry.route)
        guard !env.isExpired(record), record.metadata.origin == nil,
            let step = candidate.entry.key.migrations.first?.step(for: Key.Value.self),
            step.condition == nil, !step.isAggregating, !step.keepsSources, step.sources.count == 1
        else { return nil }
        try Mover(env).checkProtection(of: step.sources, step.options, slot.untyped)
        let read = try await read(candidate.sources[0].key.base, candidate.sources[0].route, record)
        guard let value = try step.combine([read.value]) else { return nil }
        let prepared = try env.prepare(value, slot, .carried(from: [record.metadata]))
        guard prepared.references.isEmpty else { return nil }
        let origin = try await Origins(env).made(of: [read.copy], migration: step.id, for: slot.route)
        let operation = try await env.coder.complete(prepared, origin: origin).operation
        return Move(
            candidate: candidate, copy: read.copy, change: Committer.Change(operation, slot.route, if: .absent), migration: step.id
        ) { [env] found in _ = try await env.coder.decode(found, slot) }
    }

    private func read<Key: TypedKey>(
        _ key: Key, _ route: Route, _ record: StorageRecord
    ) async throws -> (copy: SourceRecord, value: any Sendable) {
        let slot = Slot(key: key.typed, route: route)
        return (SourceRecord(slot, record), try await env.coder.read(record, slot).value)
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
