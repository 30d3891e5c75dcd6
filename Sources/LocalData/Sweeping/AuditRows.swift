import BackendContract
import Foundation

/// Creates the rows of an audit: one for each registered key and collection.
struct AuditRows: EnginePart, Sendable {
    let engine: Engine
    /// The rehearsal of the next sweep.
    let rehearsal: SweepRows
    /// The history of the migrations; nil if the ledger cannot be read.
    let past: MigrationHistory?

    func row(_ entry: KeyRegistry.Entry) async -> StorageAudit.Row {
        var row = StorageAudit.Row(entry)
        row.olderCopies = await OlderPlaces(engine: engine).look(at: entry.key.legacyLocations, of: entry.route.slot)
        if let collection = entry.key.collection { await fill(&row, collection, entry) } else { await fill(&row, entry.key.base, entry) }
        return row
    }

    /// Returns the row of a retired key; nil if its slot is proven to be empty.
    func row(retired entry: KeyRegistry.Entry) async -> StorageAudit.Row? {
        guard let found = await RetiredRows(engine: engine).row(entry) else { return nil }
        var row = StorageAudit.Row(entry)
        row.state = found.state
        row.message = found.message
        return row
    }

    private func fill<Collection: TypedCollection>(
        _ row: inout StorageAudit.Row, _ collection: Collection, _ entry: KeyRegistry.Entry
    ) async {
        do {
            row.keeps = await mirroredLocations.copy(of: collection.typed)
            row.pendingRecords = try await RecordGatherer(engine: engine).pendingRecords(collection.typed)
            await rehearse(entry, &row, isRemoved: false)
        } catch {
            row.state = (error as? StorageError)?.isTransient == false ? .failed : .blocked
            row.message = OlderPlaces.reason(error)
        }
    }

    private func fill<Key: TypedKey>(_ row: inout StorageAudit.Row, _ key: Key, _ entry: KeyRegistry.Entry) async {
        let found = await Inspector(engine: engine).inspect(Slot(key: key.typed, route: entry.route))
        let metadata = found.record?.metadata
        row.serializer = metadata?.serializer
        row.isForeign = found.record?.isForeign ?? false
        row.bytes = found.record?.payload.byteCount ?? 0
        row.modifiedAt = metadata?.modifiedAt.map(Date.init(timeIntervalSince1970:))
        row.migration = found.origin?.migration
        row.migrationLastWorked = past?.migrations.first { $0.id == row.migration }?.lastWorked
        row.provenance = found.origin?.copies.keys.sorted().compactMap { Place(text: $0)?.reported } ?? []
        let kept = await mirroredLocations.copy(of: UntypedSlot(key: key, route: entry.route))
        row.keeps = kept
        row.residue = found.older.map(\.copy.route.displayName).filter { $0 != kept?.place }
        await rehearse(entry, &row, isRemoved: found.state == .removed)
        row.message = row.message ?? found.error?.message
    }

    /// Adds the result of rehearsing a sweep of the entry.
    private func rehearse(_ entry: KeyRegistry.Entry, _ row: inout StorageAudit.Row, isRemoved: Bool) async {
        guard let rehearsed = entry.leading(rehearsal.slots.routes) else { return }
        let next = await rehearsal.sweep(rehearsed)
        row.state = next.state == .mirrored && !next.steps.isEmpty ? .pending : next.state.asFound(isRemoved: isRemoved)
        row.message = next.message
    }
}

extension MigrationReport.State {
    /// Returns the present state of a key or collection, given the state that the next sweep would report.
    fileprivate func asFound(isRemoved: Bool) -> MigrationReport.State {
        switch self {
        case .moved, .copied, .converted: .pending
        case .resolved: .conflict
        case .purged: isRemoved ? .removed : .unchanged
        default: self
        }
    }
}

extension StorageAudit.Row {
    /// Creates a row with the properties of a registered key or collection.
    fileprivate init(_ entry: KeyRegistry.Entry) {
        self.init(
            key: entry.key.name, owner: entry.key.owner ?? "", description: entry.key.description ?? "", catalog: entry.catalog,
            domain: entry.route.domain, protection: entry.route.protection, state: .unchanged, serializer: nil, isForeign: false,
            bytes: 0, modifiedAt: nil, migration: nil, migrationLastWorked: nil, provenance: [], residue: [], olderCopies: OlderCopies(),
            pendingRecords: nil, message: nil)
    }
}
