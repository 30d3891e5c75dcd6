import BackendContract
import BackendRuntime

/// A value under a key that held all records of a collection.
///
/// It is taken apart in one commit, together with a mark that names it. The mark stands in the collection's own slot: a copy that it names is only removed, and never taken
/// apart again, so that a record which was removed since does not come back.
struct ListSource<Source: Codable & Sendable, Record: Codable & Sendable>: RecordSource {
    let key: StorageKey<Source>
    let split: @Sendable (Source) throws -> [Record]

    init(_ key: StorageKey<Source>, _ split: @escaping @Sendable (Source) throws -> [Record]) {
        self.key = key
        self.split = split
    }

    func prepare(
        for collection: StorageCollection<Record>, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork {
        try await bring(to: collection, engine, context)
    }

    // Taking it apart is one commit: it makes all records, or writes none.
    func validate(for collection: StorageCollection<Record>, _ engine: MigrationEngine) async throws {}

    func id(for collection: StorageCollection<Record>) -> String { "\(collection.name):taken apart:\(key.domain)/\(key.name)" }

    func bring(
        to collection: StorageCollection<Record>, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork {
        let mark = try engine.routes.route(for: collection.placeholder)
        return try await engine.unbroken {
            try await engine.lanes.withLane(mark.slot, keyName: collection.name) {
                for _ in 0..<MigrationEngine.attempts {
                    if let work = try await takeApart(collection, mark, engine, context) { return work }
                }
                throw mark.error(for: .notAttempted)
            }
        }
    }

    func pending(for collection: StorageCollection<Record>, _ engine: MigrationEngine) async throws -> Int {
        if case .value = try await engine.standing(try engine.routes.route(for: key)) { return 1 }
        return 0
    }

    /// Nil means that somebody changed one of the places meanwhile.
    private func takeApart(
        _ collection: StorageCollection<Record>, _ mark: Route, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork? {
        let route = try engine.routes.route(for: key)
        guard case (let record?, let list?) = try await engine.current(key) else { return RecordWork() }
        let copy = SourceRecord(key: .key(key), route: route, record: record)
        let standing = try await engine.standing(mark)
        var origin: RecordOrigin?
        if case .tombstone(let tombstone) = standing { origin = try await engine.records.origin(of: tombstone.metadata, mark) }
        var work = RecordWork()
        if origin?.names(route.placeName, record) == true {
            let achieved = try await engine.settledDurability(of: mark, origin)
            work.residue = await engine.collect([copy], for: mark, achieved: achieved)
            work.reconciled = work.residue.isEmpty ? 1 : 0
            return work
        }
        // An old program wrote again: a matter for a sweep, as for a single key.
        if origin != nil, context.reason == .read { return work }
        let step = MigrationStep<Record>(
            id: id(for: collection), sources: [.key(key)], isAggregating: false,
            options: MigrationOptions()
        ) { _ in nil }
        try engine.checkProtection(step, collection.placeholder, mark)
        let records = try await engine.wrappingUserErrors(collection.placeholder) { try split(list) }
        var changes: [String: (record: Record, route: Route)] = [:]
        for record in records {
            let id = try collection.id(of: record)
            guard changes.updateValue((record, try engine.routes.route(for: collection.key(id))), forKey: id) == nil else {
                throw StorageError(
                    StorageError.migrationFailed, key: collection.name,
                    "Two records of the older value \(key.name) have the id \(id). It is left as it is.")
            }
        }
        var newOrigin = try await engine.origin(of: [copy], migration: step.id, mark)
        newOrigin.merge(origin)
        let marking = StorageMutation(
            mark.address, .tombstone(try await engine.records.tombstone(newOrigin, mark)),
            if: standing.revision.map { .revision($0) } ?? .absent)
        let ids = changes.keys.sorted()
        let slots = ids.compactMap { changes[$0]?.route.slot }
        let written = try await engine.lanes.withLanes(slots, keyName: collection.name) { [changes] in
            try await write(ids, changes, copy, collection, marking, engine, hasMark: origin != nil)
        }
        guard let written else { return nil }
        work.moved = written.count
        work.bytes = record.payload.byteCount
        if written.hasConflict { work.reconciled += 1 }
        work.residue = await engine.collect([copy], for: mark, achieved: written.durability)
        engine.ledger.worked(step.id)
        return work
    }

    private struct Written: Sendable {
        var count = 0
        var hasConflict = false
        var durability = StorageDurability.durable
    }

    private func write(
        _ ids: [String], _ changes: [String: (record: Record, route: Route)], _ copy: SourceRecord,
        _ collection: StorageCollection<Record>, _ marking: StorageMutation, _ engine: MigrationEngine, hasMark: Bool
    ) async throws -> Written? {
        let mark = try engine.routes.route(for: collection.placeholder)
        var written = Written()
        var mutations: [StorageMutation] = []
        var routes: [Route] = []
        let places = ids.compactMap { changes[$0]?.route }
        for (id, probe) in zip(ids, try await engine.probes(places, in: mark.backend)) {
            guard let (record, route) = changes[id] else { continue }
            let key = collection.key(id)
            var precondition = StorageMutation.Precondition.absent
            var value = record
            switch probe {
            case .absent where !hasMark: break
            case .absent, .tombstone, .value:
                // The collection has its records: what an old program wrote later is decided by the policy, and a removal stands against it.
                var mine: Record?
                if let standing = probe.record {
                    mine = try await engine.records.decode(standing, key, route)
                    precondition = .revision(standing.revision)
                    if let mine, try engine.records.bytes(of: mine, key) == engine.records.bytes(of: record, key) { continue }
                } else if let revision = probe.revision {
                    precondition = .revision(revision)
                }
                written.hasConflict = true
                switch collection.template.conflictPolicy {
                case .destinationWins: continue
                case .sourceWins: break
                case .merge(let merge):
                    let theirs = record
                    guard let merged = try await engine.wrappingUserErrors(key, { try merge(mine, theirs) }) else { continue }
                    value = merged
                }
                if let standing = probe.record {
                    try await engine.quarantine.keep(standing, of: route, beside: [copy.route], reason: "replaced in a conflict")
                }
            case .corrupt(let corruption): throw route.corrupted(corruption)
            case .locked, .unavailable: throw route.error(for: .conflict(probe))
            }
            let references = ReferenceCollector()
            let (payload, metadata) = try await engine.records.encode(
                value, key, route, origin: nil, engine.carriedFacts(from: [copy.record.metadata.withoutShape]), references)
            if !references.isEmpty {
                var holder = ReferenceHolder(route: route, copies: [copy])
                for (id, other) in changes {
                    holder.beside[other.route.slot] = try engine.records.bytes(of: other.record, collection.key(id))
                }
                try await engine.store(references, for: holder)
            }
            mutations.append(.put(payload, metadata, at: route.address, if: precondition))
            routes.append(route)
        }
        if written.hasConflict {
            try await engine.quarantine.keep(copy.record, of: copy.route, beside: [mark], reason: "conflict with \(collection.name)")
        }
        written.count = mutations.count
        if mark.capabilities.atomicBatch, engine.safeguards.contains(.markWithRecords) {
            guard let durability = try await engine.write(mutations, at: routes, in: mark.backend, with: [(marking, mark)]) else {
                return nil
            }
            written.durability = durability
            return written
        }
        let inOrder = Array(zip(mutations + [marking], routes + [mark]))
        for (mutation, route) in engine.safeguards.contains(.markWithRecords) ? inOrder : inOrder.reversed() {
            guard let durability = try await engine.write([mutation], at: [route], in: mark.backend) else { return nil }
            written.durability = min(written.durability, durability)
        }
        return written
    }
}

extension StorageMetadata {
    /// What is known of a value, for the records that it is taken apart into.
    fileprivate var withoutShape: StorageMetadata { StorageMetadata(createdAt: createdAt, expiresAt: expiresAt, attributes: attributes) }
}
