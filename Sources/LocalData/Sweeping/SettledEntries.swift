import BackendContract
import BackendRuntime

/// Finds the entries of a sweep that have nothing to do: the destination has the value in the key's form, and the legacy
/// locations are empty.
///
/// In most sweeps, this is the case for most entries, and a visit of each takes a lane and several calls. This type reads
/// the destinations of many entries with one call to each store, and then their legacy locations. It writes nothing, so
/// it takes no lane. An entry is skipped only if its destination had a value and its legacy locations were empty
/// afterwards: a visit would have changed nothing. Every other entry is moved in a page or visited, also one whose store
/// cannot be read.
struct SettledEntries: EnginePart, Sendable {
    let engine: Engine

    /// How many entries are read at once.
    private static let page = 256
    /// The least that a store does at once. In a slower one, such as a keyring, a page would take longer than a call may.
    /// Reason: "A sweep skips settled keys without visiting them" in Docs/Decisions/Migration.md.
    private static let leastConcurrency = 16

    /// An entry for which only the content of its slots matters.
    struct Candidate: Sendable {
        /// The position of the entry in the sweep.
        let index: Int
        let entry: KeyRegistry.Entry
        /// The legacy locations.
        let sources: [(key: AnyStorageKey, route: Route)]
    }

    /// The rows of entries that have nothing to do, nil for the others; and the entries whose destinations were empty.
    typealias Result = (rows: [MigrationReport.Row?], empty: [Candidate])

    /// Reads the destinations of entries, and the legacy locations of those that have a value.
    func result(of entries: [KeyRegistry.Entry]) async -> Result {
        await entries.parts(of: Self.page).concurrently(atMost: 2) { await page($0) }.reduce(into: Result([], [])) {
            $0.rows += $1.rows
            $0.empty += $1.empty
        }
    }

    private func page(_ entries: ArraySlice<KeyRegistry.Entry>) async -> Result {
        let start = slots.runtime.clock.now
        var rows = [MigrationReport.Row?](repeating: nil, count: entries.count)
        let candidates = entries.indices.compactMap { candidate(entries[$0], at: $0) }
        // The places come first: only a place that holds a value makes what is in the older ones a leftover.
        var (settled, empty): ([Candidate], [Candidate]) = ([], [])
        for (candidate, probe) in zip(candidates, await probes(candidates.map(\.entry.route))) {
            switch probe {
            case .value(let record) where await isAsItsKeySays(record, candidate.entry.key.base, candidate.entry.route):
                settled.append(candidate)
            case .absent: empty.append(candidate)
            default: continue
            }
        }
        let older = await probes(settled.flatMap { $0.sources.map(\.route) })
        var place = 0
        for candidate in settled {
            let found = older[place..<place + candidate.sources.count]
            place += candidate.sources.count
            guard found.allSatisfy(\.isEmpty) else { continue }
            for source in candidate.sources { history.ledger.isGone(source.route, of: candidate.entry.route) }
            rows[candidate.index - entries.startIndex] = MigrationReport.Row(candidate.entry)
        }
        let each = start.duration(to: slots.runtime.clock.now) / max(1, rows.count { $0 != nil })
        for index in rows.indices { rows[index]?.duration = each }
        return (rows, empty)
    }

    /// Returns the candidate for an entry; nil if more than the content of its slots matters.
    private func candidate(_ entry: KeyRegistry.Entry, at index: Int) -> Candidate? {
        let route = entry.route
        guard entry.key.isPlainInSweeps(at: route), Self.isFast(route),
            let older = try? LegacyLocations(engine: engine).all(entry.key.legacyLocations, of: route.slot)
        else { return nil }
        guard older.allSatisfy({ $0.key.isMovedBySteps && Self.isFast($0.route) }) else {
            return nil
        }
        return Candidate(index: index, entry: entry, sources: older)
    }

    private static func isFast(_ route: Route) -> Bool { route.capabilities.usefulConcurrency >= leastConcurrency }

    /// Whether a visit would leave a record unchanged.
    private func isAsItsKeySays(_ record: StorageRecord, _ key: some TypedKey, _ route: Route) async -> Bool {
        // A visit clears the marks of a release window that an earlier release had.
        if let origin = record.metadata.origin, RecordOrigin.mayHaveWindows(origin) { return false }
        if record.metadata.expiresAt != nil { return false }
        if route.security.keySource == nil, (try? coder.immediateValue(record, key.typed)) != nil { return true }
        return (try? await coder.read(record, Slot(key: key.typed, route: route)))?.isOutdated == false
    }

    /// Reads slots, with one call to each store.
    private func probes(_ routes: [Route]) async -> [StorageProbe] {
        var found = [StorageProbe](repeating: .locked, count: routes.count)
        for part in Route.partsByStore(routes) {
            // An entry of a store that does not answer is visited, and its row has the error.
            guard let probes = try? await Route.read(part.map { routes[$0] }, .validated) else { continue }
            for (index, probe) in zip(part, probes) { found[index] = probe }
        }
        return found
    }
}
