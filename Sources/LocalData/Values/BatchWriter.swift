import BackendContract

/// Commits changes of several keys, and the records that their values refer to.
struct BatchWriter: EnginePart, Sendable {
    let engine: Engine

    /// A change of one key. It is a class, because a batch copies its changes several times.
    final class Change: Sendable {
        let slot: UntypedSlot
        /// The encoded value; nil for a removal.
        let prepared: EncodedValue?
        /// The state that the slot must still have, if the change depends on it.
        let precondition: StorageMutation.Precondition?
        /// Whether the value is stored only if the slot is empty.
        let isInsertion: Bool

        init(
            _ slot: UntypedSlot, _ prepared: EncodedValue?, if precondition: StorageMutation.Precondition? = nil, isInsertion: Bool = false
        ) {
            self.slot = UntypedSlot(key: slot.key, route: slot.route.overridingWitness)
            (self.prepared, self.precondition, self.isInsertion) = (prepared, precondition, isInsertion)
        }
    }

    /// Commits changes of one store in one commit, or none of them. Records that the values refer to are in the same commit if
    /// possible. Otherwise they are committed before, for example if they are in another store.
    /// - Throws: ``ChangedMeanwhile`` if a slot does not have the state that its change requires. ``StorageError`` for other
    ///   failures; it names the records that were committed before.
    func commit(_ changes: [Change]) async throws {
        let own = Self.lastOfEachSlot(changes)
        try requireOneStore(own)
        let referred = try referredChanges(of: own)
        var stored: [String] = []
        for part in Self.parts(referred, own) {
            do { try await commitPart(part) } catch let error as StorageError where !stored.isEmpty { throw error.after(stored) }
            stored += part.map(\.slot.name)
        }
        await history.ledger.flush()
    }

    /// Returns the last change of each slot, because a later change of a key replaces an earlier one.
    private static func lastOfEachSlot(_ changes: [Change]) -> [Change] {
        var last: [PhysicalSlot: Change] = [:]
        var order: [PhysicalSlot] = []
        for change in changes where last.updateValue(change, forKey: change.slot.id) == nil { order.append(change.slot.id) }
        return order.compactMap { last[$0] }
    }

    private func requireOneStore(_ changes: [Change]) throws {
        guard let first = changes.first else { return }
        guard changes.allSatisfy({ $0.slot.id.store == first.slot.id.store }) else {
            throw StorageError(
                StorageError.unsupported, key: first.slot.name,
                "A batch commits in one store; these keys are of several. Make a batch for each store.")
        }
        guard changes.count == 1 || first.slot.route.capabilities.atomicBatch else {
            throw StorageError(
                StorageError.unsupported, key: first.slot.name,
                "\(first.slot.route.domain) cannot commit several changes at once. Set the keys one by one.")
        }
    }

    /// Returns the changes that store the records to which values refer. A record that the batch changes explicitly is left out.
    private func referredChanges(of changes: [Change]) throws -> [Change] {
        var seen = Set(changes.map(\.slot.id))
        var found: [Change] = []
        for referred in changes.flatMap({ $0.prepared?.references.records ?? [] }) {
            func change<Record: ReferredRecord>(_ record: Record) throws -> Change {
                let slot = try slots.routes.slot(for: record.key)
                return Change(slot.untyped, try coder.prepare(record, slot), isInsertion: record.isPending)
            }
            let change = try change(referred)
            if seen.insert(change.slot.id).inserted { found.append(change) }
        }
        return found
    }

    /// Groups changes by commit, with the referred records first. Adjacent changes of one store share a commit, if the store has
    /// atomic batches.
    private static func parts(_ referred: [Change], _ own: [Change]) -> [[Change]] {
        var parts: [[Change]] = []
        for (index, change) in (referred + own).enumerated() {
            let isAlone = index <= referred.count && !change.slot.route.capabilities.atomicBatch
            if isAlone || parts.last?.last?.slot.id.store != change.slot.id.store {
                parts.append([change])
            } else {
                parts[parts.count - 1].append(change)
            }
        }
        return parts
    }

    private func commitPart(_ changes: [Change]) async throws {
        guard let first = changes.first else { return }
        for change in changes { try await slots.lists.prepare(change.slot.key) }
        try await slots.lanes.withLanes(changes.map(\.slot.id), keyName: first.slot.name) {
            for await _ in slots.attempts { if try await commitOnce(changes) { return } }
            throw first.slot.route.error(for: .notAttempted)
        }
    }

    // MARK: One attempt

    /// The commit that was planned for a change, from the present content of its slot.
    private struct Planned {
        let change: Committer.Change
        let damage: StorageCorruption?
        /// For a removal: the contents of the legacy locations, whose copies must be deleted after it.
        let removal: LegacyLocations.Contents?
        /// For a value: the encoded record that is committed.
        let coded: CodedRecord?
        let origin: RecordOrigin?
        /// The legacy location of a release window, with the contents that were read before the change.
        let kept: MirroredLocation.Seen?
    }

    /// Makes one attempt to commit changes. Returns false if one of their slots changed since this attempt read it.
    private func commitOnce(_ changes: [Change]) async throws -> Bool {
        var planned: [(change: Change, plan: Planned)] = []
        // The records of one collection come from the same lists, so these are read once.
        var (lists, collection): (LegacyLocations.Contents?, PhysicalSlot?) = (nil, nil)
        for change in changes {
            if change.slot.key.membership?.gathered != nil, change.slot.id.placeholder != collection {
                lists = try await LegacyLocations(engine: engine).readLists(of: change.slot)
                collection = change.slot.id.placeholder
            }
            if let plan = try await plan(change, lists) { planned.append((change, plan)) }
        }
        for (change, plan) in planned {
            if let damage = plan.damage { _ = try await history.quarantine.keep(damage, of: change.slot.route, beside: []) }
        }
        let receipt = try await slots.committer.commit(planned.map(\.plan.change))
        guard receipt.isCommitted else { return false }
        let made = zip(planned, receipt.results).map { (change: $0.change, plan: $0.plan, result: $1) }
        let limit = planned.compactMap { $0.plan.kept?.place.route.capabilities.usefulConcurrency }.min()
        var residue = await made.filter { $0.plan.kept != nil }.concurrently(atMost: min(limit ?? 1, Self.mostMirrorsAtOnce)) { made in
            await mirror(made.change, made.plan, made.result)
        }.compactMap(\.self).first
        for (change, plan) in planned {
            guard let contents = plan.removal else { continue }
            do {
                if change.slot.key.leavesTombstone { try await executor.purgeCopies(contents, of: change.slot, nil) }
                try await Backups(engine: engine).purgeAfterRemoval(change.slot)
            } catch { residue = residue ?? error }
        }
        if let residue { throw residue }
        return true
    }

    /// The maximum number of mirrors that are written at once. These share commits and flushes.
    private static var mostMirrorsAtOnce: Int { 64 }

    /// Writes the mirror of a change to the legacy location of a release window.
    /// - Returns: The error `residueRemains` if the mirror of a removal could not be written; otherwise nil.
    private func mirror(_ change: Change, _ plan: Planned, _ result: MutationResult) async -> (any Error)? {
        guard let kept = plan.kept, case .applied(let revision?, _) = result else { return nil }
        if let prepared = change.prepared, let coded = plan.coded {
            await mirrorWriter.write(prepared, coded, plan.origin, revision, kept)
            return nil
        }
        return await mirrorWriter.writeRemoval(plan.origin, revision, kept)?.afterRemoval(of: change.slot.name)
    }

    /// Plans the commit of a change from the present content of its slot. Returns nil for an insertion into a slot that is not
    /// empty.
    private func plan(_ change: Change, _ lists: LegacyLocations.Contents?) async throws -> Planned? {
        let (slot, route) = (change.slot, change.slot.route)
        let probe = try await ValueWriter(engine: engine).probe(slot)
        if let wanted = change.precondition, wanted != probe.unchanged { throw ChangedMeanwhile() }
        // Read the legacy locations once. A removal does not cover values that are written there after this read.
        let kept = try await MirroredLocations(engine: engine).look(for: slot, over: probe, isMade: change.precondition != nil)
        let contents = try await LegacyLocations(engine: engine).readReplaced(by: slot, except: kept, lists: lists)
        if change.isInsertion {
            guard case .absent = probe, kept?.contents?.record == nil, contents.found.isEmpty, contents.unreadable.isEmpty else {
                return nil
            }
        }
        var damage: StorageCorruption?
        if case .corrupt(let corruption) = probe {
            if corruption.revision == nil { throw route.corrupted(corruption) }
            damage = corruption
        }
        let operation: StorageMutation.Operation
        var coded: CodedRecord?
        var origin: RecordOrigin?
        if let prepared = change.prepared {
            try coder.requireNotLater(probe, prepared)
            origin = try await origins.next(slot, over: probe, contents, kept)
            let complete = try await coder.complete(prepared.over(probe, now: coder.now), origin: origin)
            (operation, coded) = (complete.operation, complete)
        } else if slot.key.leavesTombstone {
            let carried = try await origins.removed(slot, over: probe, contents, kept)
            (operation, origin) = (.tombstone(try await coder.tombstone(carried, route)), carried)
        } else {
            operation = try await Purger(engine: engine).deletion(of: probe, route)
        }
        return Planned(
            change: slots.committer.change(operation, route, over: probe), damage: damage,
            removal: change.prepared == nil ? contents : nil, coded: coded, origin: origin, kept: kept)
    }
}

extension StorageError {
    /// Returns this error for a call that had already stored some records. The message names these records.
    fileprivate func after(_ stored: [String]) -> StorageError {
        let names = stored.prefix(5).joined(separator: ", ") + (stored.count > 5 ? " and \(stored.count - 5) more" : "")
        return StorageError(
            code, key: keyName, "\(message) Stored before the failure, in separate commits: \(names). Repeat the call to store the rest.",
            outcome: .unknown, underlying: underlying)
    }
}
