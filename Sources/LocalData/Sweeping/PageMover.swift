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

    /// The number of keys of a page, at least and at most, and the part of the remaining keys that it has. A property list is written again
    /// for each page, so a long sweep has larger pages.
    private static let (least, most, part) = (1_024, 4_096, 16)
    /// How many sources are read at once, because the size of their values is not known before.
    private static let chunk = 16
    /// The size of values that ends a commit, in bytes. A key with a larger value is visited.
    private static let bytes = 4 << 20

    /// Keys whose values are moved in one commit. The key at an index has the moves at that index.
    private struct Page: Sendable {
        var candidates: [Candidate] = []
        var moves = Moves()
        /// The size of the values, in bytes.
        var size = 0

        func key(at index: Int) -> any TypedKey { candidates[index].entry.key.base }
    }

    /// Moves the values of entries whose destinations were empty: those that can be moved together, page by page.
    /// - Parameter done: Called with the position and the row of each entry that was moved.
    func move(_ candidates: [Candidate], _ done: (Int, MigrationReport.Row) -> Void) async {
        let pairs = Dictionary(grouping: candidates.filter(isMovable)) { [$0.sources[0].route.slot.store, $0.entry.route.slot.store] }
        for part in pairs.values.sorted(by: { $0[0].index < $1[0].index }) {
            var (rest, isOrdered) = (part[...], false)
            while !rest.isEmpty {
                // The first page creates a store that does not exist. Until then, it has no order.
                if !isOrdered, let ordered = Self.ordered(rest) { (rest, isOrdered) = (ordered[...], true) }
                let page = rest.prefix(min(Self.most, max(Self.least, rest.count / Self.part)))
                for (index, row) in await rows(of: Array(page)) { done(index, row) }
                rest = rest[page.endIndex...]
            }
        }
    }

    /// Returns entries in the order of their destinations on the disk; nil if it is not known.
    private static func ordered(_ candidates: ArraySlice<Candidate>) -> [Candidate]? {
        guard candidates.count > least, let backend = candidates.first?.entry.route.backend as? any BulkBackend,
            let positions = backend.positions(of: candidates.map(\.entry.route.address))
        else { return nil }
        return zip(positions, candidates).sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Moves the values of a page.
    /// - Returns: The rows of the entries that were moved, by the positions of the entries.
    private func rows(of page: [Candidate]) async -> [(Int, MigrationReport.Row)] {
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
            && !history.registry.isNamed(source.route.slot, except: route.slot) && !history.registry.isNamed(route.slot, except: route.slot)
    }

    private func moveInLanes(_ page: [Candidate]) async -> [(Int, MigrationReport.Row)] {
        var (rows, part): ([(Int, MigrationReport.Row)], Page) = ([], Page())
        for chunk in page.parts(of: Self.chunk) {
            let probes = (try? await Route.read(chunk.map { $0.sources[0].route }, .validated)) ?? []
            for (candidate, probe) in zip(chunk, probes) {
                guard case .value(let record) = probe, record.payload.byteCount < Self.bytes else { continue }
                // A key whose move cannot be prepared is visited.
                try? await add(candidate, record, to: &part)
            }
            if part.size < Self.bytes, chunk.endIndex < page.endIndex { continue }
            rows += (try? await commit(part)) ?? []
            part = Page()
        }
        return rows
    }

    private func commit(_ page: Page) async throws -> [(Int, MigrationReport.Row)] {
        if page.candidates.isEmpty { return [] }
        let start = slots.runtime.clock.now
        // All copies are in one store.
        if let index = page.candidates.indices.first(where: { page.key(at: $0).mayLoseConflicts }) {
            let slot = UntypedSlot(key: page.key(at: index), route: page.candidates[index].entry.route)
            try await origins.requireLasting([page.moves.copies[index]], for: slot)
        }
        let moved = try await executor.run(page.moves) { index, found in
            _ = try await value(page.key(at: index), page.candidates[index].entry.route, found)
        }
        guard let residues = moved?.residues else { return [] }
        let each = start.duration(to: slots.runtime.clock.now) / max(1, residues.count)
        history.ledger.counts.moved(
            zip(page.candidates, page.moves.copies).map { ($0.entry.route, [$1.route], $0.entry.key.migrations[0].id) })
        return residues.enumerated().map { index, residue in
            let (candidate, source) = (page.candidates[index], page.moves.copies[index].route)
            var row = MigrationReport.Row(candidate.entry)
            row.state = .moved
            row.from = [source.reported]
            row.protectionBefore = source.protection
            row.bytes = page.moves.writes[index].mutation.payloadSize
            row.residue = residue
            row.steps = [MigrationReport.Step(action: .write, place: candidate.entry.route.displayName, count: 1)]
            if residue.isEmpty { row.steps.append(MigrationReport.Step(action: .delete, place: source.displayName, count: 1)) }
            row.duration = each
            return (candidate.index, row)
        }
    }

    /// Prepares the move of a value. Adds nothing for a key that needs a visit.
    private func add(_ candidate: Candidate, _ record: StorageRecord, to page: inout Page) async throws {
        let (source, route) = (candidate.sources[0], candidate.entry.route)
        let copy = SourceRecord(key: source.key, route: source.route, record: record)
        guard !coder.isExpired(record), record.metadata.origin == nil,
            let prepared = try prepare(
                candidate.entry.key.base, candidate, try await value(source.key.base, source.route, record), record.metadata)
        else { return }
        let id = candidate.entry.key.migrations[0].id
        let coded = try await coder.complete(prepared, origin: try await origins.made(of: [copy], migration: id, for: route))
        page.moves.writes.append(Committer.Change(coded.operation, route, if: .absent))
        page.moves.copies.append(copy)
        page.moves.destinations.append(route)
        page.candidates.append(candidate)
        page.size += record.payload.byteCount
    }

    /// Returns the value of a record.
    private func value(_ key: some TypedKey, _ route: Route, _ record: StorageRecord) async throws -> any Sendable {
        if route.security.keySource == nil, let value = try? coder.immediateValue(record, key.typed) { return value }
        return try await coder.read(record, Slot(key: key.typed, route: route)).value
    }

    /// Returns the encoded value of a key; nil for a key that needs a visit.
    private func prepare<Key: TypedKey>(
        _ key: Key, _ candidate: Candidate, _ older: any Sendable, _ metadata: StorageMetadata
    ) throws -> EncodedValue? {
        let slot = Slot(key: key.typed, route: candidate.entry.route)
        guard let step = candidate.entry.key.migrations[0].step(for: Key.Value.self),
            step.condition == nil, !step.isAggregating, !step.keepsSources, step.sources.count == 1
        else { return nil }
        try Mover(engine: engine).checkProtection(of: step.sources, step.options, slot.untyped)
        guard let value = try step.combine([older]) else { return nil }
        let prepared = try coder.prepare(value, slot, .carried(from: [metadata]))
        return prepared.references.isEmpty ? prepared : nil
    }
}
