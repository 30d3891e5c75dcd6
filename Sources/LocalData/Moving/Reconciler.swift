import BackendContract
import BackendRuntime

/// Compares the content of legacy locations with a settled destination. Deletes the copies that the destination replaced. Any
/// other content is a conflict.
struct Reconciler: EnginePart, Sendable {
    let engine: Engine

    private var sourceReader: SourceReader { SourceReader(engine: engine) }

    /// Compares a destination with its legacy locations, and deletes copies and resolves conflicts there.
    /// - Parameter kept: The slot of a legacy location that a release window keeps up to date; it stays unchanged here. Nil if
    ///   there is none.
    /// - Returns: The visit; nil if the destination has changed since it was read, and must be re-read.
    func reconcile<Value>(
        _ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>, keeping kept: PhysicalSlot? = nil
    ) async throws -> Visit? {
        guard slot.key.hasMigration else { return Visit(state: settled.isRemoved ? .removed : .unchanged) }
        let origin = try await coder.origin(of: settled.metadata, slot.route)
        var doubtful: [SourceRecord] = []
        guard let visit = try await reconcile(slot, run, settled, origin, keeping: kept, &doubtful) else { return nil }
        await recordAbsence(of: doubtful, slot, settled, origin)
        return visit
    }

    /// - Parameter quarantined: Receives the records that may be copies or new writes, and were quarantined.
    private func reconcile<Value>(
        _ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>, _ origin: RecordOrigin?, keeping kept: PhysicalSlot?,
        _ quarantined: inout [SourceRecord]
    ) async throws -> Visit? {
        var visit = Visit(state: settled.isRemoved ? .removed : .unchanged)
        guard var known = try await collectCopies(slot, run, settled, origin, keeping: kept, &visit, &quarantined) else { return nil }
        if let kept { known.insert(kept) }
        for migration in slot.key.migrations {
            let comparison: Comparison
            var mayBeReplaced = false
            switch migration.form {
            case .custom where settled.isRemoved:
                // The removal decides. A custom migration cannot see the removal and would bring the value back, so it does not run.
                comparison = try await clear(migration.sources, slot, run, settled, origin, except: known)
            case .custom(let custom):
                guard let result = try await mover.run(custom, migration.id, slot.name, run) else { continue }
                visit.state = .resolved
                visit.message = "The migration \(migration.id) ran."
                visit.from = result.sources
                return visit
            case .step:
                guard let step = migration.step(for: Value.self), !step.keepsSources,
                    try await program.wrappingUserErrors(slot.name, { try await step.mayRun(run) })
                else { continue }
                do { comparison = try await reconcile(step, slot, run, settled, origin, except: known, &quarantined) } catch {
                    history.ledger.counts.failed(step.id, error)
                    throw error
                }
                mayBeReplaced = true
            }
            switch comparison {
            case .nothing: continue
            case .lookAgain: return nil
            case .done(let state, let from, let protection, let residue):
                visit.state = state
                visit.from = from
                if mayBeReplaced { visit.protectionBefore = protection }
                visit.residue += residue
                // The destination may have been replaced. The next sweep compares it with the sources of the other migrations.
                if mayBeReplaced, state == .resolved { return visit }
            }
        }
        return visit
    }

    /// Deletes the copies that the origin of the destination names, in any legacy location. A value of another program that
    /// equals such a copy may be a new write: it is quarantined before it is deleted. In a source of a ready-made migration, it
    /// is left for the comparison with the destination's value.
    /// - Returns: The slots whose content was handled here and needs no comparison; nil if the destination has changed since it was read.
    private func collectCopies<Value>(
        _ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>, _ origin: RecordOrigin?,
        keeping kept: PhysicalSlot?, _ visit: inout Visit, _ quarantined: inout [SourceRecord]
    ) async throws -> Set<PhysicalSlot>? {
        let locations = LegacyLocations(engine: engine)
        let contents = try await locations.read(for: slot.untyped)
        let occupied = Set(contents.found.map(\.route.slot) + contents.unreadable.map(\.slot))
        for place in try locations.all(of: slot.untyped) where !occupied.contains(place.route.slot) {
            history.ledger.isGone(place.route, of: slot.route)
        }
        let sources = try comparedSources(slot)
        var copies: [SourceRecord] = []
        var doubtful: [SourceRecord] = []
        for source in contents.found where source.route.slot != kept {
            let copy = StateTable.Facts(
                match: await origins.match(source, origin), isMade: origin?.isMade(of: source.record) == true,
                isForeign: source.record.isForeign, hasOrigin: source.record.metadata.origin != nil,
                isSource: sources.contains(source.route.slot), isRemoved: settled.isRemoved)
            switch StateTable.verdict(on: copy) {
            case .copy(let ifUnchanged):
                if ifUnchanged, try await !isUnchanged(settled, slot) { return nil }
                copies.append(source)
            case .doubtful: doubtful.append(source)
            case .other: continue
            }
        }
        try await quarantine(doubtful, slot, "may be a new write of \(slot.name)")
        quarantined += doubtful
        let found = copies + doubtful
        if found.isEmpty { return [] }
        if !copies.isEmpty {
            visit.residue += await executor.purge(
                copies, for: slot.route, achieved: try await settledDurability(of: slot.route, origin))
        }
        if !doubtful.isEmpty {
            visit.residue += await executor.purge(
                doubtful, for: slot.route, achieved: try await certainty(of: settled, slot, run, origin, doubtful))
        }
        if visit.residue.count < found.count { visit.state = doubtful.isEmpty ? .purged : .resolved }
        visit.from = found.map(\.route.reported)
        visit.protectionBefore = found.map(\.route.protection).min()
        return Set(found.map(\.route.slot))
    }

    /// Returns whether the destination is unchanged since it was read. Called after a legacy location was read: if the
    /// destination has changed, equal content at the legacy location may be a new write over a later value.
    private func isUnchanged<Value>(_ settled: Settled<Value>, _ slot: Slot<Value>) async throws -> Bool {
        try await slot.route.probe().revision == settled.revision
    }

    /// Returns the slots of the sources of ready-made migrations. Their values are decoded and compared with the destination's value.
    private func comparedSources<Value>(_ slot: Slot<Value>) throws -> Set<PhysicalSlot> {
        Set(
            try slot.key.migrations.filter { $0.step(for: Value.self) != nil }.flatMap(\.sources).map {
                try slots.routes.route(for: $0).slot
            }
        )
    }

    private enum Comparison {
        case nothing
        case lookAgain
        case done(MigrationReport.State, from: [StoragePlace], ProtectionLevel?, residue: [String])
    }

    private func reconcile<Value>(
        _ step: MigrationStep<Value>, _ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>, _ origin: RecordOrigin?,
        except known: Set<PhysicalSlot>, _ quarantined: inout [SourceRecord]
    ) async throws -> Comparison {
        var found: [SourceRecord] = []
        var doubtful: [SourceRecord] = []
        var values: [(any Sendable)?] = []
        for source in step.sources {
            let route = try slots.routes.route(for: source)
            guard route.slot != slot.id, !known.contains(route.slot),
                let (record, value) = try await sourceReader.readOther(source.base, step.options, run)
            else {
                values.append(nil)
                continue
            }
            let copy = SourceRecord(key: source, route: route, record: record)
            // The location may have been unreadable before. If the origin names its record, the record is a copy and no
            // conflict. The next sweep deletes it.
            let match = await origins.match(copy, origin)
            if match == .exact {
                history.ledger.remains(route, of: slot.route, "it could not be read at first")
                values.append(nil)
                continue
            }
            // An expired value is absent, so it takes part in no conflict.
            if coder.isExpired(record) {
                if run.reason != .read, !step.keepsSources {
                    _ = try await Purger(engine: engine).purge(record, try slots.routes.slot(source.base))
                }
                values.append(nil)
                continue
            }
            values.append(value)
            if match == .content { doubtful.append(copy) } else { found.append(copy) }
        }
        if found.isEmpty, doubtful.isEmpty { return .nothing }
        let from = (found + doubtful).map(\.route.reported)
        let protection = (found + doubtful).map(\.route.protection).min()
        let candidate = values.contains { $0 != nil } ? try? step.combine(values) : nil
        var (isEqual, references) = (false, ReferencedRecords.none)
        if case .value(_, let value) = settled, let candidate {
            let prepared = try coder.prepare(candidate, slot, .new)
            (isEqual, references) = (try coder.bytes(of: value, slot.key) == prepared.bytes, prepared.references)
        }
        func purged(_ copies: [SourceRecord]) async throws -> [String] {
            await executor.purge(copies, for: slot.route, achieved: try await certainty(of: settled, slot, run, origin, copies))
        }
        // Every value that the result may lack is quarantined before it is deleted or replaced.
        let residue: [String]?
        switch StateTable.decision(isEqual: isEqual, isDoubtful: !doubtful.isEmpty, candidate, slot.key.conflictPolicy) {
        case .delete:
            guard try await isUnchanged(settled, slot) else { return .lookAgain }
            // The values are equal, but the records within their references may differ.
            let copies = found + doubtful
            try await ReferenceWriter(engine: engine).store(references, for: holder(step, slot, run, copies))
            let residue = try await purged(copies)
            return .done(residue.isEmpty ? .purged : .unchanged, from: from, protection, residue: residue)
        case .setAside:
            // The next sweep compares the other records that were found with the value.
            try await quarantine(doubtful, slot, "may be a new write of \(slot.name)")
            quarantined += doubtful
            return .done(.resolved, from: from, protection, residue: try await purged(doubtful))
        case .keep:
            try await quarantine(found, slot)
            residue = try await purged(found)
        case .replace(let value):
            try mover.checkProtection(of: step.sources, step.options, slot.untyped)
            try await quarantine(settled, slot, found)
            residue = try await replace(settled, with: value, step, slot, run, found, origin)
        case .merge(let value, let merge):
            let mine: Value? = if case .value(_, let value) = settled { value } else { nil }
            let merged = try await program.wrappingUserErrors(slot.name) { try merge(mine, value) }
            if merged != nil { try mover.checkProtection(of: step.sources, step.options, slot.untyped) }
            try await quarantine(found, slot)
            try await quarantine(settled, slot, found)
            residue =
                if let merged { try await replace(settled, with: merged, step, slot, run, found, origin) } else {
                    try await remove(settled, slot, found, origin)
                }
        case .fail:
            throw StorageError(
                StorageError.migrationFailed, key: slot.name,
                "A legacy location holds another value than \(slot.route.domain), and it cannot be read. Both are left as they are.")
        }
        guard let residue else { return .lookAgain }
        history.ledger.worked(step.id)
        return .done(.resolved, from: from, protection, residue: residue)
    }

    private func holder<Value>(
        _ step: MigrationStep<Value>, _ slot: Slot<Value>, _ run: MigrationRun, _ found: [SourceRecord]
    ) -> ReferenceHolder {
        ReferenceHolder(route: slot.route, copies: found, allowsWeakerProtection: step.options.allowsWeakerProtection)
    }

    // MARK: Conflicts

    private func quarantine<Value>(_ found: [SourceRecord], _ slot: Slot<Value>, _ reason: String? = nil) async throws {
        for source in found {
            try await history.quarantine.keep(
                source.record, of: source.route, beside: [slot.route], reason: reason ?? "conflict with \(slot.name)")
        }
    }

    private func quarantine<Value>(_ settled: Settled<Value>, _ slot: Slot<Value>, _ found: [SourceRecord]) async throws {
        guard case .value(let record, _) = settled else { return }
        try await history.quarantine.keep(record, of: slot.route, beside: found.map(\.route), reason: "replaced in a conflict")
    }

    private func replace<Value>(
        _ settled: Settled<Value>, with value: Value, _ step: MigrationStep<Value>, _ slot: Slot<Value>, _ run: MigrationRun,
        _ found: [SourceRecord], _ origin: RecordOrigin?
    ) async throws -> [String]? {
        try await origins.requireLasting(found, for: slot.untyped)
        var newOrigin = try await origins.made(of: found, migration: step.id, for: slot.route)
        let (sources, mine) = (found.map(\.record.metadata), settled.record?.metadata)
        var facts = WriteAttributes.winning(from: sources, over: mine)
        if case .merge = slot.key.conflictPolicy {
            facts = WriteAttributes.merged(from: sources, with: mine)
            // A merged value replaces the content of the source. A value of the source is made from it.
            for copy in found { newOrigin.add(copy, destination: slot.route) }
        }
        newOrigin.merge(origin)
        return try await executor.run(
            try coder.prepare(value, slot, facts), slot, origin: newOrigin, if: .revision(settled.revision), replacing: found,
            for: holder(step, slot, run, found))?.residue
    }

    /// Resolves a conflict with a removal.
    private func remove<Value>(
        _ settled: Settled<Value>, _ slot: Slot<Value>, _ found: [SourceRecord], _ origin: RecordOrigin?
    ) async throws -> [String]? {
        guard let durability = try await writeTombstone(settled, slot, found, origin) else { return nil }
        return await executor.purge(found, for: slot.route, achieved: durability)
    }

    /// Writes a tombstone whose origin names copies. Returns nil if the slot has changed since it was read.
    private func writeTombstone<Value>(
        _ settled: Settled<Value>, _ slot: Slot<Value>, _ found: [SourceRecord], _ origin: RecordOrigin?
    ) async throws -> StorageDurability? {
        var newOrigin = try await origins.made(of: found, migration: nil, for: slot.route)
        newOrigin.merge(origin)
        let tombstone = StorageMutation.Operation.tombstone(try await coder.tombstone(newOrigin, slot.route))
        return try await executor.restate(tombstone, at: slot.route, over: settled.revision)?.durability
    }

    // MARK: Removals and certainty

    /// Records that legacy locations are durably empty, if the origin of the destination says only that their content was replaced. A value
    /// that another program writes there later is then new. If the record cannot be written, that later value is quarantined, and replaces
    /// nothing.
    private func recordAbsence<Value>(
        of copies: [SourceRecord], _ slot: Slot<Value>, _ settled: Settled<Value>, _ origin: RecordOrigin?
    ) async {
        guard var newOrigin = origin else { return }
        for copy in copies where newOrigin.isUnnamed(copy.route.place.text) {
            guard case .absent? = try? await copy.route.probe(), await origins.isDurablyEmpty(copy.route) else { continue }
            newOrigin.recordAbsence(of: copy.route.place.text)
        }
        if newOrigin == origin { return }
        newOrigin.boot = slots.runtime.host.bootID
        newOrigin.recordRewrite(of: settled.revision, origin)
        switch settled {
        case .value(let record, let value):
            var facts = WriteAttributes.kept(record.metadata)
            facts.keepsTime = true
            guard let prepared = try? coder.prepare(value, slot, facts) else { return }
            _ = try? await executor.run(
                prepared, slot, origin: newOrigin, if: .revision(record.revision), for: ReferenceHolder(route: slot.route, copies: []))
        case .removed(let tombstone):
            guard let metadata = try? await coder.tombstone(newOrigin, slot.route, date: tombstone.metadata.modifiedAt) else { return }
            _ = try? await executor.restate(.tombstone(metadata), at: slot.route, over: tombstone.revision)
        }
    }

    /// Deletes the values in the sources of a custom migration, because the destination has a tombstone. A value that is not a
    /// copy is quarantined first.
    private func clear<Value>(
        _ sources: [AnyStorageKey], _ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>, _ origin: RecordOrigin?,
        except known: Set<PhysicalSlot>
    ) async throws -> Comparison {
        var found: [SourceRecord] = []
        for source in sources {
            let route = try slots.routes.route(for: source)
            guard route.slot != slot.id, !known.contains(route.slot),
                let record = try await sourceReader.readOther(source.base, MigrationOptions(), run)?.record
            else { continue }
            let copy = SourceRecord(key: source, route: route, record: record)
            // The record may be the mirror of a value that was set since.
            if record.metadata.origin != nil, try await !isUnchanged(settled, slot) { return .lookAgain }
            if await origins.match(copy, origin) != .exact { try await quarantine([copy], slot) }
            found.append(copy)
        }
        if found.isEmpty { return .nothing }
        let residue = await executor.purge(
            found, for: slot.route, achieved: try await certainty(of: settled, slot, run, origin, found))
        return .done(.resolved, from: found.map(\.route.reported), nil, residue: residue)
    }

    /// Returns how durable the record of a settled destination is. In some stores, only a reboot proves that a record is
    /// durable. If the record then lacks the boot ID of its write, rewrites it with the present one: if the record still exists
    /// after a later reboot, it is durable.
    private func certainty<Value>(
        of settled: Settled<Value>, _ slot: Slot<Value>, _ run: MigrationRun, _ origin: RecordOrigin?, _ copies: [SourceRecord]
    ) async throws -> StorageDurability {
        let achieved = try await settledDurability(of: slot.route, origin)
        guard achieved == .untilPowerLoss, origin?.boot == nil, slots.runtime.host.bootID != nil else { return achieved }
        switch settled {
        // Do not rewrite another program's value: that program must still be able to read it.
        case .value(let record, _) where record.isForeign: return achieved
        case .value(let record, let value):
            var newOrigin = try await origins.made(of: copies, migration: nil, for: slot.route)
            newOrigin.merge(origin)
            newOrigin.recordRewrite(of: record.revision, origin)
            let written = try await executor.run(
                try coder.prepare(value, slot, .kept(record.metadata)), slot, origin: newOrigin, if: .revision(record.revision),
                for: ReferenceHolder(route: slot.route, copies: copies))
            return written?.durability ?? achieved
        case .removed: return try await writeTombstone(settled, slot, copies, origin) ?? achieved
        }
    }
}
