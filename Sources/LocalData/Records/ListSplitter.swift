import BackendContract

/// Splits a list into records. The list is the value of one key, and contains all records of a collection. The records are written in one
/// commit, together with a mark that names the list.
///
/// The mark is a tombstone in the slot of the collection itself. A list that the mark names is a copy: it is only deleted, and never split
/// again. Otherwise a record that was removed after the split would return.
struct ListSplitter<Source: Codable & Sendable, Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let list: ListSource<Source, Record>
    let collection: StorageCollection<Record>

    func move(_ run: MigrationRun) async throws -> RecordWork {
        let mark = try slots.routes.slot(for: collection.placeholder)
        do {
            return try await slots.unbroken(in: mark.route) { [self] in
                for await _ in slots.attempts { if let work = try await takeApart(mark, run) { return work } }
                throw mark.route.error(for: .notAttempted)
            }
        } catch {
            history.ledger.counts.failed(list.id(for: collection), error)
            throw error
        }
    }

    /// Makes one attempt to split the list. Returns nil if the list, the mark or the slot of a record has changed since it was read.
    private func takeApart(_ mark: Slot<Record>, _ run: MigrationRun) async throws -> RecordWork? {
        var work = RecordWork()
        let slot = try slots.routes.slot(for: list.key)
        if run.reason != .read, case .value(let record) = try await slot.route.probe(), coder.isExpired(record) {
            switch try await Purger(engine: engine).purge(record, slot.untyped) {
            case .changed: return nil
            case .kept: work.waiting = 1
            case .purged: work.expired = 1
            }
            return work
        }
        let reading = try await ValueReader(engine: engine).readWritten(slot)
        guard let record = reading.record, let value = reading.value else { return work }
        let copy = SourceRecord(slot, record)
        let marked = try await mark.route.probe()
        var origin: RecordOrigin?
        if case .tombstone(let tombstone) = marked { origin = try await coder.origin(of: tombstone.metadata, mark.route) }
        let match = await origins.match(copy, origin)
        if match == .content {
            // Another program wrote this list, with the content of a list that was split before. It may be a new write of this content, so
            // it is quarantined before it is deleted.
            if run.reason == .read { return work }
            try await history.quarantine.keep(
                record, of: slot.route, beside: [mark.route], reason: "may be a new write of \(list.key.name)")
        }
        // Reason: "A list is split in one commit, with a mark" in Docs/Decisions/Collections.md.
        if match != .none {
            work.residue = await executor.purge(
                [copy], for: mark.route, achieved: try await settledDurability(of: mark.route, origin))
            work.reconciled = work.residue.isEmpty ? 1 : 0
            return work
        }
        // Whether a list in this location was split before. If not, the mark may still name lists that were split in other locations.
        let wasTakenApart = origin?.copies[slot.route.place.text] != nil
        // An older program has written the list again. As for a single key, only a sweep decides this.
        if wasTakenApart, run.reason == .read { return work }
        try Mover(engine: engine).checkProtection(of: [.key(list.key)], list.options, mark.untyped)
        let records = try await program.wrappingUserErrors(collection.name) { try list.split(value) }
        var newOrigin = try await origins.made(of: [copy], migration: list.id(for: collection), for: mark.route)
        newOrigin.merge(origin)
        let attributes = (marked.metadata?.attributes ?? [:]).filter { $0.key == RemovalEpochs.attribute }
        let metadata = try await coder.tombstone(newOrigin, mark.route, attributes: attributes)
        let tombstone = StorageMutation.Operation.tombstone(metadata)
        let marking = Committer.Change(tombstone, mark.route, if: marked.unchanged)
        let parts = try parts(records, copy)
        let written = try await slots.lanes.withLanes(parts.map(\.slot.id), keyName: collection.name) {
            try await write(parts, copy, mark, marking, run, wasTakenApart: wasTakenApart)
        }
        guard let written else { return nil }
        work.moved = written.count
        work.bytes = record.payload.byteCount
        if written.count > 0 { history.ledger.worked(list.id(for: collection), values: written.count) }
        // The list remains until a sweep has decided the conflict.
        if written.hasConflict, run.reason == .read { return work }
        if written.hasConflict { work.reconciled += max(1, written.resolved) }
        work.residue = await executor.purge([copy], for: mark.route, achieved: written.durability)
        return work
    }

    /// A record of the list, and its slot in the collection.
    private struct Part: Sendable {
        let slot: Slot<Record>
        let record: Record
        let prepared: EncodedValue
    }

    /// Returns the records of a list, encoded and sorted by their ids.
    private func parts(_ records: [Record], _ copy: SourceRecord) throws -> [Part] {
        let facts = WriteAttributes.carried(from: [Self.metadata(of: copy)])
        var parts: [PhysicalSlot: Part] = [:]
        for record in records {
            let slot = try slots.routes.slot(for: collection.key(try collection.id(of: record)))
            let part = Part(slot: slot, record: record, prepared: try coder.prepare(record, slot, facts))
            if let other = parts.updateValue(part, forKey: slot.id), other.prepared.bytes != part.prepared.bytes {
                throw StorageError(
                    StorageError.migrationFailed, key: collection.name,
                    "Two records of the older value \(list.key.name) have the id \(slot.name). It is left as it is.")
            }
        }
        return parts.values.sorted { $0.slot.name < $1.slot.name }
    }

    /// The metadata that the records of a list take over from the list.
    private static func metadata(of copy: SourceRecord) -> StorageMetadata {
        let metadata = copy.record.metadata
        return StorageMetadata(createdAt: metadata.createdAt, expiresAt: metadata.expiresAt, attributes: metadata.attributes)
    }

    private struct Written: Sendable {
        /// The number of records whose slots were empty.
        var count = 0
        /// The number of records that a conflict policy changed.
        var resolved = 0
        var hasConflict = false
        var durability = StorageDurability.durable
    }

    /// Writes the records and the mark. Returns nil if one of the slots has changed since it was read.
    private func write(
        _ parts: [Part], _ copy: SourceRecord, _ mark: Slot<Record>, _ marking: Committer.Change, _ run: MigrationRun, wasTakenApart: Bool
    ) async throws -> Written? {
        var written = Written()
        var changes: [Committer.Change] = []
        var free: [(part: Part, probe: StorageProbe, holder: ReferenceHolder)] = []
        let bytes = Dictionary(parts.map { ($0.slot.id, $0.prepared.bytes) }, uniquingKeysWith: { $1 })
        for (part, probe) in zip(parts, try await Route.probes(parts.map(\.slot.route))) {
            let holder = ReferenceHolder(route: part.slot.route, copies: [copy], written: bytes)
            switch try await outcome(for: part, over: probe, copy, holder, run, isLate: wasTakenApart) {
            case .unchanged: continue
            case .conflict(let change):
                written.hasConflict = true
                if let change { changes.append(change) }
            case .free: free.append((part, probe, holder))
            }
        }
        // If the list remains, its records name it. The sweep that resolves the conflict then undoes no later change of these records.
        var origin: RecordOrigin?
        if written.hasConflict, run.reason == .read, let first = free.first {
            let list = LegacyLocations.Contents(lists: [copy])
            origin = try await origins.carried(first.part.slot.untyped, over: first.probe, list)
        }
        written.resolved = changes.count
        for (part, probe, holder) in free {
            changes.append(try await executor.put(part.prepared, origin: origin, if: probe.unchanged, for: holder))
        }
        written.count = free.count
        // A read decides no conflict. It moves the records whose slots are empty, and does not write the mark.
        if written.hasConflict, run.reason == .read { return try await commit(changes, nil, mark.route) == nil ? nil : written }
        if written.hasConflict {
            try await history.quarantine.keep(copy.record, of: copy.route, beside: [mark.route], reason: "conflict with \(collection.name)")
        }
        guard let durability = try await commit(changes, marking, mark.route) else { return nil }
        written.durability = durability
        return written
    }

    /// The result for one record of the list.
    private enum Outcome {
        case unchanged
        /// The slot has a tombstone or a different record, or an older program has written the list again. The change is nil if the slot
        /// remains unchanged.
        case conflict(Committer.Change?)
        /// The slot is empty, and the record is written.
        case free
    }

    /// Decides what happens to one record of the list, by the content of its slot. A record or tombstone in the slot wins over what an
    /// older program wrote later, unless the conflict policy says otherwise.
    private func outcome(
        for part: Part, over probe: StorageProbe, _ copy: SourceRecord, _ holder: ReferenceHolder, _ run: MigrationRun, isLate: Bool
    ) async throws -> Outcome {
        let route = part.slot.route
        if case .corrupt(let corruption) = probe { throw route.corrupted(corruption) }
        if case .absent = probe, !isLate { return .free }
        // The content of the slot is this record of the list, or a later change of it. If its writer could not read the list, the list may
        // be older or newer.
        let origin = try await MirroredLocations(engine: engine).origin(of: probe, part.slot.untyped)
        let (match, isUnnamed) = (await origins.match(copy, origin), origin?.isUnnamed(copy.route.place.text) == true)
        if match == .exact || match == .content && !isUnnamed { return .unchanged }
        // Another program does not see the removal, and its list has no revision: the list may be older or newer than the removal.
        if case .tombstone = probe, copy.record.isForeign { return .conflict(nil) }
        var mine: Record?
        if let stored = probe.record {
            let value = try await coder.decode(stored, part.slot)
            if try coder.bytes(of: value, part.slot.key) == part.prepared.bytes {
                // The records are equal, but the records to which they refer may differ.
                try await ReferenceWriter(engine: engine).store(part.prepared.references, for: holder)
                return .unchanged
            }
            if !coder.isExpired(stored) { mine = value }
        }
        if run.reason == .read || isUnnamed { return .conflict(nil) }
        let replaced = mine == nil ? nil : probe.metadata
        var prepared = part.prepared
        prepared.facts = .winning(from: [Self.metadata(of: copy)], over: replaced)
        switch collection.template.conflictPolicy {
        case .destinationWins: return .conflict(nil)
        case .sourceWins: break
        case .merge(let merge):
            guard let merged = try await program.wrappingUserErrors(part.slot.name, { [mine] in try merge(mine, part.record) }) else {
                guard let stored = probe.record else { return .conflict(nil) }
                try await history.quarantine.keep(stored, of: route, beside: [copy.route], reason: "replaced in a conflict")
                let origin = try await origins.carried(part.slot.untyped, over: probe, LegacyLocations.Contents(lists: [copy]))
                let tombstone = StorageMutation.Operation.tombstone(try await coder.tombstone(origin, route))
                return .conflict(Committer.Change(tombstone, route, if: probe.unchanged))
            }
            prepared = try coder.prepare(merged, part.slot, .merged(from: [Self.metadata(of: copy)], with: replaced))
        }
        if let stored = probe.record {
            try await history.quarantine.keep(stored, of: route, beside: [copy.route], reason: "replaced in a conflict")
        }
        var newOrigin = try await origins.made(of: [copy], migration: list.id(for: collection), for: route)
        newOrigin.merge(try await origins.kept(part.slot.untyped, over: probe))
        return .conflict(try await executor.put(prepared, origin: newOrigin, if: probe.unchanged, for: holder))
    }

    /// Commits the records together with the mark. If the store has no atomic batches, commits each record, makes the records durable, and
    /// then commits the mark.
    /// - Parameter marking: The change that writes the mark; nil if the list remains.
    /// - Returns: The durability of the records and the mark; nil if a slot has changed since it was read.
    private func commit(_ changes: [Committer.Change], _ marking: Committer.Change?, _ mark: Route) async throws -> StorageDurability? {
        guard let marking else { return try await executor.run(Moves(writes: changes))?.durability }
        if mark.capabilities.atomicBatch { return try await executor.run(Moves(writes: changes + [marking]))?.durability }
        guard var durability = try await executor.run(Moves(writes: changes))?.durability else { return nil }
        // Another program may have written some of the records. Make them durable first: a power loss must not undo a record and keep the
        // mark.
        durability = min(durability, try await settledDurability(of: mark, nil))
        return try await executor.run(Moves(writes: [marking])).map { min(durability, $0.durability) }
    }
}

extension ListSource: RecordMoving {
    func prepare(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork {
        try await move(to: collection, gatherer, run)
    }

    // No check is needed in advance: a split makes all records before it writes any of them.
    func validate(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws {}

    func id(for collection: StorageCollection<Record>) -> String { "\(collection.name):taken apart:\(key.domain)/\(key.name)" }

    func move(to collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork {
        try await ListSplitter(engine: gatherer.engine, list: self, collection: collection).move(run)
    }

    func pending(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws -> Int {
        guard case .value(let record) = try await gatherer.slots.routes.slot(for: key).route.probe() else { return 0 }
        return gatherer.coder.isExpired(record) ? 0 : 1
    }
}
