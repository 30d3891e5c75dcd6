import BackendContract
import BackendRuntime

extension MigrationEngine {
    /// Whether what an older place holds is a copy of what a record replaced: one that it names, or one that an older version of the program has moved since, from a place
    /// where it is named.
    func isCopy(_ source: SourceRecord, of origin: RecordOrigin?) async -> Bool {
        guard let origin else { return false }
        if origin.names(source.route.placeName, source.record) { return true }
        guard let past = try? await records.origin(of: source.record.metadata, source.route), past.migration != nil else { return false }
        return origin.namesAll(of: past)
    }

    /// Quarantines what older places hold beside a removal, and removes it there. Nil when they hold nothing else.
    func quarantine<Value>(
        _ sources: [AnyStorageKey], _ key: StorageKey<Value>, _ route: Route, _ standing: Standing<Value>, _ origin: RecordOrigin?,
        _ context: MigrationContext, except known: Set<PhysicalSlot>
    ) async throws -> (names: String, residue: [String])? {
        var found: [SourceRecord] = []
        for source in sources {
            let sourceRoute = try routes.route(for: source)
            guard sourceRoute.slot != route.slot, !known.contains(sourceRoute.slot) else { continue }
            guard let record = try await readOther(source.base, sourceRoute, MigrationOptions(), context).0 else { continue }
            let copy = SourceRecord(key: source, route: sourceRoute, record: record)
            if await !isCopy(copy, of: origin) {
                try await quarantine.keep(record, of: sourceRoute, beside: [route], reason: "conflict with \(key.name)")
            }
            found.append(copy)
        }
        if found.isEmpty { return nil }
        let names = found.map { "\($0.route.domain)/\($0.route.keyName)" }.joined(separator: " + ")
        let residue = await collect(found, for: route, achieved: try await certainty(of: standing, key, route, origin, found))
        return (names, residue)
    }

    /// How durable what stands in its place is known to be. Where only a start of the machine can tell, and the record does not say in which it was written, it is
    /// written anew: a record that a later start finds was there before.
    func certainty<Value>(
        of standing: Standing<Value>, _ key: StorageKey<Value>, _ route: Route, _ origin: RecordOrigin?, _ copies: [SourceRecord]
    ) async throws -> StorageDurability {
        let achieved = try await settledDurability(of: route, origin)
        guard achieved == .untilPowerLoss, origin?.boot == nil, runtime.host.bootID != nil else { return achieved }
        // What another program wrote stays as that program reads it.
        if case .held(let record, _) = standing, record.isForeign { return achieved }
        var newOrigin = try await self.origin(of: copies, migration: nil, route)
        newOrigin.merge(origin)
        switch standing {
        case .held(_, let value):
            let facts = RecordFacts.kept(standing.metadata)
            let holder = ReferenceHolder(route: route, copies: copies)
            return try await write(value, key, route, newOrigin, facts, if: .revision(standing.revision), holder)?.durability ?? achieved
        case .removed:
            let operation = StorageMutation.Operation.tombstone(try await records.tombstone(newOrigin, route))
            guard case .applied(_, let durability) = try await applyTelling(operation, route, if: .revision(standing.revision)) else {
                return achieved
            }
            return durability
        }
    }
}
