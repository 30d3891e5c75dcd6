import BackendContract
import BackendRuntime
import Synchronization

/// Visits registered keys and collections, as many at once as their stores can use; not those that have nothing to do.
struct Sweep: EnginePart, Sendable {
    let engine: Engine

    private var sweepRows: SweepRows { SweepRows(engine: engine) }

    /// - Parameter progress: Called after each record of a collection and after each entry, one call at a time.
    func run(_ entries: [KeyRegistry.Entry], progress: (@Sendable (MigrationProgress) -> Void)?) async -> MigrationReport {
        await history.expiries.forgetUnsteady()
        let counter = Mutex(MigrationProgress(finished: 0, total: entries.count, moved: 0, key: ""))
        @Sendable func finish(_ row: MigrationReport.Row) {
            guard let progress else { return }
            counter.withLock { counter in
                counter.finished += 1
                counter.key = row.key
                counter.records = nil
                if row.state == .moved || row.state == .converted { counter.moved += 1 }
                progress(counter)
            }
        }
        var (rows, empty) = await SettledEntries(engine: engine).result(of: entries)
        if progress != nil { for case let row? in rows { finish(row) } }
        await PageMover(engine: engine).move(empty) { index, row in
            rows[index] = row
            finish(row)
        }
        let open = rows.indices.filter { rows[$0] == nil }
        let visited = await visit(open.map { entries[$0] }) { entry in
            guard let progress else { return await sweepRows.sweep(entry) }
            let meter = RecordMeter(await sweepRows.recordCount(entry), slots.runtime.clock)
            let row = await sweepRows.sweep(entry) { count in
                for _ in 0..<count {
                    counter.withLock { counter in
                        counter.key = entry.key.name
                        counter.records = meter.next()
                        progress(counter)
                    }
                }
            }
            finish(row)
            return row
        }
        for (index, row) in zip(open, visited) { rows[index] = row }
        return MigrationReport(rows: await revisited(entries, rows.compactMap(\.self)))
    }

    /// The rows after a second visit of those with residue: a copy that several keys share can only go once the last of them has its value.
    private func revisited(_ entries: [KeyRegistry.Entry], _ rows: [MigrationReport.Row]) async -> [MigrationReport.Row] {
        var settled = rows
        for (entry, old) in zip(entries, rows) where !old.residue.isEmpty {
            let row = await sweepRows.sweep(entry)
            guard let index = settled.firstIndex(where: { $0.key == old.key && $0.to == old.to }) else { continue }
            // A visit that failed says nothing about what remains.
            if row.state == .blocked || row.state == .failed { continue }
            settled[index].steps += row.steps
            settled[index].residue = row.residue
            settled[index].message = row.message
        }
        return settled
    }

    private func visit(
        _ entries: [KeyRegistry.Entry], _ work: @escaping @Sendable (KeyRegistry.Entry) async -> MigrationReport.Row
    ) async -> [MigrationReport.Row] {
        // Keys that touch a slow store share its few places; the others do not wait for them.
        var groups: [BackendIdentity: (limit: Int, parts: [[Int]])] = [:]
        for part in Self.related(entries) {
            let stores = part.flatMap { index in
                [entries[index].route] + entries[index].key.sources.compactMap { try? slots.routes.route(for: $0) }
            }
            guard let slowest = stores.min(by: { $0.capabilities.usefulConcurrency < $1.capabilities.usefulConcurrency }) else { continue }
            groups[slowest.slot.store, default: (max(1, slowest.capabilities.usefulConcurrency), [])].parts.append(part)
        }
        return await withTaskGroup(of: [(Int, MigrationReport.Row)].self) { group in
            // Reason: "No order in the library depends on a hash" in Docs/Decisions/Tests.md.
            for (limit, parts) in groups.values.sorted(by: { $0.parts[0][0] < $1.parts[0][0] }) {
                group.addTask { await Self.visit(parts, limit) { (index: Int) in await work(entries[index]) } }
            }
            var rows = [MigrationReport.Row?](repeating: nil, count: entries.count)
            for await part in group { for (index, row) in part { rows[index] = row } }
            return rows.compactMap(\.self)
        }
    }

    /// The entries that share slots, each part in its order: what one visit moves, another one finds. Entries of two parts never meet.
    /// Reason: "Rows of a sweep do not depend on the scheduler" in Docs/Decisions/Migration.md.
    private static func related(_ entries: [KeyRegistry.Entry]) -> [[Int]] {
        var parts: [[Int]] = []
        var partOf: [PhysicalSlot: Int] = [:]
        for (index, entry) in entries.enumerated() {
            let slots = ([entry.route.slot] + entry.reach).flatMap { [$0] + ($0.placeholder.map { [$0] } ?? []) }
            let met = Set(slots.compactMap { partOf[$0] }).sorted()
            let part = met.first ?? parts.count
            if met.isEmpty { parts.append([]) }
            for other in met.dropFirst() {
                parts[part] += parts[other]
                parts[other] = []
            }
            if met.count > 1 { for (slot, old) in partOf where met.contains(old) { partOf[slot] = part } }
            parts[part].append(index)
            for slot in slots { partOf[slot] = part }
        }
        return parts.filter { !$0.isEmpty }.map { $0.sorted() }
    }

    /// Visits the entries of one group: of a limited number of parts at once, the entries of a part one after the other.
    private static func visit(
        _ parts: [[Int]], _ limit: Int, _ work: @escaping @Sendable (Int) async -> MigrationReport.Row
    ) async -> [(Int, MigrationReport.Row)] {
        await parts.concurrently(atMost: limit) { part in
            var rows: [(Int, MigrationReport.Row)] = []
            for index in part { rows.append((index, await work(index))) }
            return rows
        }.flatMap(\.self)
    }
}
