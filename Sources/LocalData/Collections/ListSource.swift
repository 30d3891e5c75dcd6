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
        guard case .value(let record) = try await engine.standing(try engine.routes.route(for: key)) else { return 0 }
        return record.metadata.isExpired(at: engine.runtime.clock.wallSeconds) ? 0 : 1
    }

    /// Nil means that somebody changed one of the places meanwhile.
    private func takeApart(
        _ collection: StorageCollection<Record>, _ mark: Route, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork? {
        let route = try engine.routes.route(for: key)
        if context.reason != .read, case .value(let record) = try await engine.standing(route),
            record.metadata.isExpired(at: engine.runtime.clock.wallSeconds)
        {
            guard try await engine.purge(record, key, route) else { return nil }
            var work = RecordWork()
            work.expired = 1
            return work
        }
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
        // The mark may name other lists only: they were taken apart before this one.
        let wasTakenApart = origin?.copies[route.placeName] != nil
        // An old program wrote again: a matter for a sweep, as for a single key.
        if wasTakenApart, context.reason == .read { return work }
        let step = MigrationStep<Record>(
            id: id(for: collection), sources: [.key(key)], isAggregating: false,
            options: MigrationOptions()
        ) { _ in nil }
        try engine.checkProtection(step, collection.placeholder, mark)
        let records = try await engine.wrappingUserErrors(collection.placeholder) { try split(list) }
        var changes: [PhysicalSlot: Change] = [:]
        for record in records {
            let key = collection.key(try collection.id(of: record))
            let route = try engine.routes.route(for: key)
            if let other = changes.updateValue(Change(key: key, route: route, record: record), forKey: route.slot),
                try engine.records.bytes(of: other.record, key) != engine.records.bytes(of: record, key)
            {
                throw StorageError(
                    StorageError.migrationFailed, key: collection.name,
                    "Two records of the older value \(key.name) have the id \(key.name). It is left as it is.")
            }
        }
        var newOrigin = try await engine.origin(of: [copy], migration: step.id, mark)
        newOrigin.merge(origin)
        let marking = StorageMutation(
            mark.address, .tombstone(try await engine.records.tombstone(newOrigin, mark)),
            if: standing.revision.map { .revision($0) } ?? .absent)
        let inOrder = changes.values.sorted { $0.key.name < $1.key.name }
        let written = try await engine.lanes.withLanes(inOrder.map(\.route.slot), keyName: collection.name) {
            try await write(inOrder, copy, collection, marking, engine, wasTakenApart: wasTakenApart)
        }
        guard let written else { return nil }
        work.moved = written.count
        work.bytes = record.payload.byteCount
        if written.hasConflict { work.reconciled += 1 }
        work.residue = await engine.collect([copy], for: mark, achieved: written.durability)
        engine.ledger.worked(step.id)
        return work
    }

    /// A record of the list, and where it goes.
    private struct Change: Sendable {
        let key: StorageKey<Record>
        let route: Route
        let record: Record
    }

    private struct Written: Sendable {
        var count = 0
        var hasConflict = false
        var durability = StorageDurability.durable
    }

    private func write(
        _ changes: [Change], _ copy: SourceRecord, _ collection: StorageCollection<Record>, _ marking: StorageMutation,
        _ engine: MigrationEngine, wasTakenApart: Bool
    ) async throws -> Written? {
        let mark = try engine.routes.route(for: collection.placeholder)
        var written = Written()
        var mutations: [StorageMutation] = []
        var routes: [Route] = []
        var beside: [PhysicalSlot: [UInt8]]?
        func store(_ references: ReferenceCollector, _ route: Route) async throws {
            if references.isEmpty { return }
            let known =
                try beside
                ?? Dictionary(
                    changes.map { ($0.route.slot, try engine.records.bytes(of: $0.record, $0.key)) }, uniquingKeysWith: { $1 })
            beside = known
            try await engine.store(references, for: ReferenceHolder(route: route, copies: [copy], beside: known))
        }
        for (change, probe) in zip(changes, try await engine.probes(changes.map(\.route), in: mark.backend)) {
            let (key, route, record) = (change.key, change.route, change.record)
            var precondition = StorageMutation.Precondition.absent
            var value = record
            switch probe {
            case .absent where !wasTakenApart: break
            case .absent, .tombstone, .value:
                // The collection has its records: what an old program wrote later is decided by the policy, and a removal stands against it.
                var mine: Record?
                if let standing = probe.record {
                    mine = try await engine.records.decode(standing, key, route)
                    precondition = .revision(standing.revision)
                    let references = ReferenceCollector()
                    if let mine, try engine.records.bytes(of: mine, key) == engine.records.bytes(of: record, key, references) {
                        // They may be the same but for the records within them.
                        try await store(references, route)
                        continue
                    }
                } else if let revision = probe.revision {
                    precondition = .revision(revision)
                }
                written.hasConflict = true
                switch collection.template.conflictPolicy {
                case .destinationWins: continue
                case .sourceWins: break
                case .merge(let merge):
                    let theirs = record
                    guard let merged = try await engine.wrappingUserErrors(key, { try merge(mine, theirs) }) else {
                        guard let standing = probe.record else { continue }
                        try await engine.quarantine.keep(standing, of: route, beside: [copy.route], reason: "replaced in a conflict")
                        let origin = try await engine.carriedOrigin(key, route, probe, ([], []))
                        mutations.append(
                            .tombstone(try await engine.records.tombstone(origin, route), at: route.address, if: precondition))
                        routes.append(route)
                        continue
                    }
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
            try await store(references, route)
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
