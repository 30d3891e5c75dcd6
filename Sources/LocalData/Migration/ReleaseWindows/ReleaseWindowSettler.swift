import BackendContract
import BackendRuntime

/// Settles a key whose older place is kept up to date: brings over what an earlier release wrote or removed there, and in a sweep brings the older place up to date, or ends the window.
struct ReleaseWindowSettler: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var durableWriter: DurableWriter { DurableWriter(slots, coder, history, program) }
    private var mirrorWriter: MirrorWriter { MirrorWriter(slots, coder, history) }
    private var mirroredLocations: MirroredLocations { MirroredLocations(slots, coder, history) }
    private var mover: Mover { Mover(slots, coder, history, program) }
    private var origins: Origins { Origins(slots, coder, history) }
    private var residuePurger: ResiduePurger { ResiduePurger(slots, coder, history) }
    private var valuePreparer: ValuePreparer { ValuePreparer(slots, coder, history) }

    /// What came of it.
    enum Outcome: Sendable {
        /// No window matters: the ordinary table holds.
        case ordinary
        /// The key's place was changed, by this visit or meanwhile.
        case lookAgain(Visit?)
        case settled(Visit)
    }

    /// What a visit works with.
    private struct Work<Value: Codable & Sendable>: Sendable {
        let slot: Slot<Value>
        let run: MigrationRun
        let settled: Reconciler.Settled<Value>
        let record: MirroredRecord
        let place: MirroredLocation
        let step: MigrationStep<Value>
        let contents: MirrorContents

        var value: Value? { if case .value(_, let value) = settled { value } else { nil } }
    }

    func settle<Value>(_ slot: Slot<Value>, _ run: MigrationRun, _ settled: Reconciler.Settled<Value>) async throws -> Outcome {
        guard slot.key.hasMigration else { return .ordinary }
        let isRead = run.reason == .read
        if isRead, slot.key.releaseWindow == nil { return .ordinary }
        let origin = try await coder.origin(of: settled.metadata, slot.route)
        guard slot.key.releaseWindow != nil || origin?.hasWindows == true else { return .ordinary }
        let record =
            switch settled {
            case .value(let record, _): MirroredRecord(record, origin)
            case .removed(let tombstone): MirroredRecord(tombstone, origin)
            }
        let places = mirroredLocations
        if !isRead { for place in try places.released(of: slot.untyped, origin) { await clear(place) } }
        guard let place = try places.place(of: slot.untyped, origin, toEnd: !isRead),
            let step = slot.key.migrations.first(where: { $0.id == place.migration })?.step(for: Value.self), !step.isAggregating
        else { return .ordinary }
        try await settleSource(of: place, run)
        guard let contents = try await places.read(place) else { return .settled(Visit(state: settled.isRemoved ? .removed : .unchanged)) }
        // Nobody has kept this window, and there is nothing that its end would take.
        if !place.isOpen, origin?.isInWindow(of: place.name) != true, contents.isEmpty { return .ordinary }
        let work = Work(
            slot: slot, run: run, settled: settled, record: record, place: place, step: step, contents: contents)
        let standing = await places.standing(of: contents, to: record, at: place)
        switch standing {
        case .changed(let source): return try await fold(source, work, keeps: !place.commitsTogether && source.record.isForeign)
        case .removed: return try await remove(work)
        case .mirrored, .outdated, .doubtful, .conflict, .damaged: break
        }
        // A read decides nothing, and brings nothing up to date.
        if isRead {
            if !standing.isMirrored, try await !places.isCurrent(record, at: place) { return .lookAgain(nil) }
            return .settled(Visit(state: settled.isRemoved ? .removed : .unchanged))
        }
        switch standing {
        case .conflict(let source): return try await decide(source, work)
        case .mirrored(let isMarked): return try await finish(work, isMirrored: true, isMarked: isMarked)
        case .doubtful(let source):
            try await quarantine(source, work, "may be a new write of \(slot.name)")
            return try await finish(work, isMirrored: false, isMarked: false, state: .resolved)
        case .outdated, .damaged, .changed, .removed: return try await finish(work, isMirrored: false, isMarked: false)
        }
    }

    /// An older place has older places of its own, which an earlier release moves its value from.
    private func settleSource(of place: MirroredLocation, _ run: MigrationRun) async throws {
        func settle<Key: TypedKey>(_ key: Key) async throws {
            let slot = Slot(key: key.typed, route: place.route)
            _ = try await slots.withLane(slot.route) {
                try await Settler(slots, coder, history, program).settle(slot, await program.run(run.reason, slot.id, within: run))
            }
        }
        guard place.source.key.hasMigration, !slots.lanes.isHeldByCurrentChain(place.route.slot) else { return }
        try await settle(place.source.key)
    }

    /// Deletes what the end of a window has left: it may have been stopped after the key's place had said that the window is over. What an earlier release wrote is left to
    /// the ordinary table.
    private func clear(_ place: MirroredLocation) async {
        guard let contents = try? await mirroredLocations.read(place), contents.mark != nil || contents.mirror != nil else { return }
        _ = await mirrorWriter.delete(contents, at: place, keepsOthers: true)
    }

    // MARK: What an earlier release wrote

    /// Makes the key's value of what an earlier release wrote.
    /// - Parameter keeps: Whether what it replaces is quarantined: an earlier release may not have seen it.
    private func fold<Value>(_ source: SourceRecord, _ work: Work<Value>, keeps: Bool) async throws -> Outcome {
        let (slot, place, route) = (work.slot, work.place, work.slot.route)
        try mover.checkProtection(of: work.step.sources, work.step.options, slot.untyped)
        guard let older = try await value(of: source, work) else {
            throw StorageError(
                StorageError.migrationFailed, key: slot.name,
                "An earlier release wrote \(place.source.name) in \(place.route.domain), and it cannot be read as its key describes it. Both values are left as they are."
            )
        }
        var value = older
        if let merge = work.step.kept?.merge, let newer = work.value {
            value = try await program.wrappingUserErrors(slot.name) { try merge(older, newer) }
        }
        let isLasting = try await residuePurger.settledDurability(of: place.route, nil) == .durable
        if keeps { try await quarantine(work, "replaced by an earlier release") }
        var origin = try await origins.made(of: [source], migration: work.step.id, for: route)
        origin.merge(work.record.origin)
        if isLasting { origin.noteMade(of: place.name) } else { origin.noteOpen(place.name) }
        let prepared = try valuePreparer.prepare(value, slot, WriteAttributes.carried(from: [source.record.metadata]))
        let holder = ReferenceHolder(
            route: route, copies: [source], allowsWeakerProtection: work.step.options.allowsWeakerProtection)
        let written = try await durableWriter.write(prepared, slot, origin, if: .revision(work.record.revision), holder)
        guard let written else { return .lookAgain(nil) }
        history.ledger.worked(work.step.id)
        history.ledger.brought(route, from: [place.route], by: work.step.id)
        // With a merge, the older place is told what came of it.
        let content = Self.content(prepared, of: written.record, unless: work.step.kept?.merge == nil ? source.record : nil)
        await mirror(content, MirroredRecord(written.record, origin), work)
        return .lookAgain(
            Visit(
                state: .moved, from: [place.route.reported], protectionBefore: place.route.protection,
                bytes: written.record.payload.byteCount))
    }

    /// What an earlier release wrote stays as it is, byte for byte; what another program wrote becomes a record of the library.
    /// - Parameter record: The record of the key's place, whose expiry the mirror has too.
    static func content(_ prepared: EncodedValue, of record: StorageRecord, unless older: StorageRecord?) -> MirrorWriter.Content {
        if let older, !older.isForeign { return .unchanged(older) }
        return prepared.older.first.map { .value($0.mirroring(record.metadata, of: prepared.route, over: older)) } ?? older.map(
            MirrorWriter.Content.unchanged)
            ?? .removal
    }

    /// The value that the older place's record makes; nil where it cannot be read.
    private func value<Value>(of source: SourceRecord, _ work: Work<Value>) async throws -> Value? {
        func decoded<Key: TypedKey>(_ key: Key) async throws -> (any Sendable)? {
            try await coder.decode(source.record, Slot(key: key.typed, route: source.route))
        }
        do {
            guard let older = try await decoded(work.place.source.key) else { return nil }
            return try await program.wrappingUserErrors(work.slot.name) { try work.step.combine([older]) }
        } catch let error as StorageError where error.meansUndecodable { return nil }
    }

    /// Removes the key's value, which an earlier release has removed.
    private func remove<Value>(_ work: Work<Value>) async throws -> Outcome {
        let isLasting = try await residuePurger.settledDurability(of: work.place.route, nil) == .durable
        try await quarantine(work, "removed by an earlier release")
        return try await writeTombstone(work, isMade: isLasting).map {
            .lookAgain(Visit(state: .removed, from: [work.place.route.reported], bytes: $0))
        }
            ?? .lookAgain(nil)
    }

    /// Writes the tombstone and its mirror. Nil when the key's place was changed meanwhile.
    /// - Parameter isMade: Whether it says what the older place does, durably: what an earlier release writes there next has seen the removal.
    private func writeTombstone<Value>(_ work: Work<Value>, isMade: Bool = false) async throws -> Int? {
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        origin.merge(work.record.origin)
        origin.recordAbsence(of: work.place.name)
        if isMade { origin.noteMade(of: work.place.name) }
        let metadata = try await coder.tombstone(origin, work.slot.route)
        let change = Committer.Change(.tombstone(metadata), work.slot.route, if: .revision(work.record.revision))
        let receipt = try await slots.committer.commit([change])
        guard receipt.isCommitted, case .applied(let revision?, _) = receipt.results[0] else { return nil }
        try await Backups(slots, coder, history).purgeAfterRemoval(work.slot.untyped)
        await mirror(.removal, MirroredRecord(StorageTombstone(metadata: metadata, revision: revision), origin), work)
        return 0
    }

    // MARK: Conflicts

    /// Applies the key's conflict policy to a change of an earlier release that has not seen the key's value. The loser is quarantined first.
    /// - Parameter source: What the earlier release wrote; nil where it removed the value.
    private func decide<Value>(_ source: SourceRecord?, _ work: Work<Value>) async throws -> Outcome {
        guard let source else {
            guard case .sourceWins = work.slot.key.conflictPolicy else {
                return try await finish(work, isMirrored: false, isMarked: false, state: .resolved)
            }
            try await quarantine(work, "replaced in a conflict")
            return try await writeTombstone(work) == nil
                ? .lookAgain(nil) : .lookAgain(Visit(state: .resolved, from: [work.place.route.reported]))
        }
        let older = try await value(of: source, work)
        if let older, let value = work.value,
            try coder.prepare(older, work.slot, .new).bytes == coder.bytes(of: value, work.slot.key)
        {
            return try await finish(work, isMirrored: false, isMarked: false)
        }
        // Another program cannot have seen a removal, and its value has no mark that tells a new write from an old one.
        let isUnseen = work.settled.isRemoved && source.record.isForeign
        switch work.slot.key.conflictPolicy {
        case .sourceWins where !isUnseen:
            return try await fold(source, work, keeps: true).resolved(from: work.place)
        case .merge(let merge) where !isUnseen:
            guard let older else { throw Self.unreadable(work) }
            let merged = try await program.wrappingUserErrors(work.slot.name) { try merge(work.value, older) }
            try await quarantine(source, work, "conflict with \(work.slot.name)")
            try await quarantine(work, "replaced in a conflict")
            guard let merged else {
                return try await writeTombstone(work) == nil
                    ? .lookAgain(nil) : .lookAgain(Visit(state: .resolved, from: [work.place.route.reported]))
            }
            return try await replace(with: merged, of: source, work)
        default:
            try await quarantine(source, work, "conflict with \(work.slot.name)")
            return try await finish(work, isMirrored: false, isMarked: false, state: .resolved)
        }
    }

    private static func unreadable<Value>(_ work: Work<Value>) -> StorageError {
        StorageError(
            StorageError.migrationFailed, key: work.slot.name,
            "An older place holds another value than \(work.slot.route.domain), and it cannot be read. Both are left as they are.")
    }

    private func replace<Value>(with value: Value, of source: SourceRecord, _ work: Work<Value>) async throws -> Outcome {
        try mover.checkProtection(of: work.step.sources, work.step.options, work.slot.untyped)
        _ = try await residuePurger.settledDurability(of: work.place.route, nil)
        var origin = try await origins.made(of: [source], migration: nil, for: work.slot.route)
        origin.merge(work.record.origin)
        origin.noteKept(work.place.name)
        let prepared = try valuePreparer.prepare(value, work.slot, WriteAttributes.carried(from: [source.record.metadata]))
        let holder = ReferenceHolder(
            route: work.slot.route, copies: [source],
            allowsWeakerProtection: work.step.options.allowsWeakerProtection)
        let written = try await durableWriter.write(prepared, work.slot, origin, if: .revision(work.record.revision), holder)
        guard let written else { return .lookAgain(nil) }
        history.ledger.worked(work.step.id)
        if let older = prepared.older.first {
            await mirror(
                .value(older.mirroring(written.record.metadata, of: work.slot.route, over: work.contents.record)),
                MirroredRecord(written.record, origin), work)
        }
        return .lookAgain(Visit(state: .resolved, from: [work.place.route.reported], bytes: written.record.payload.byteCount))
    }

    private func quarantine<Value>(_ source: SourceRecord, _ work: Work<Value>, _ reason: String) async throws {
        try await history.quarantine.keep(source.record, of: source.route, beside: [work.slot.route], reason: reason)
    }

    private func quarantine<Value>(_ work: Work<Value>, _ reason: String) async throws {
        guard case .value(let record, _) = work.settled else { return }
        try await history.quarantine.keep(record, of: work.slot.route, beside: [work.place.route], reason: reason)
    }

    private func mirror<Value>(_ content: MirrorWriter.Content, _ record: MirroredRecord, _ work: Work<Value>) async {
        // The second look of the same visit writes it where a window is over.
        if work.place.isOpen { _ = await mirrorWriter.write(content, of: record, at: work.place, over: work.contents) }
    }

    // MARK: The rest of a sweep

    /// Sees to the other older places, and then brings this one up to date, or ends the window.
    private func finish<Value>(
        _ work: Work<Value>, isMirrored: Bool, isMarked: Bool, state: MigrationReport.State? = nil
    ) async throws -> Outcome {
        let (slot, place, record) = (work.slot, work.place, work.record)
        guard
            var visit = try await Reconciler(slots, coder, history, program).reconcile(
                slot, work.run, work.settled, keeping: place.route.slot)
        else {
            return .lookAgain(nil)
        }
        guard try await slot.route.probe().revision == record.revision else { return .lookAgain(visit) }
        if case .value(let foreign, let value) = work.settled, foreign.isForeign {
            return try await rewrite(value, foreign, work) ? .lookAgain(nil) : .lookAgain(visit)
        }
        if place.isOpen, record.origin?.isInWindow(of: place.name) != true {
            return try await mirrorWriter.open(record, at: place) ? .lookAgain(nil) : .lookAgain(visit)
        }
        if let state, visit.state == .unchanged || visit.state == .removed {
            visit.state = state
            visit.from = [place.route.reported]
        }
        // The mirror must not last longer than what it stands for.
        _ = try await residuePurger.settledDurability(of: slot.route, record.origin)
        if await isOver(work) { return try await end(work, visit) }
        if isMirrored {
            if !isMarked { try await mirrorWriter.remark(record, at: place, over: work.contents) }
            return .settled(visit.mirrored)
        }
        var content = MirrorWriter.Content.removal
        if let value = work.value {
            guard let older = try valuePreparer.prepare(value, slot, .new).older.first else { return .settled(visit) }
            content = .value(older.mirroring(record.metadata, of: slot.route, over: work.contents.record))
        }
        switch await mirrorWriter.write(content, of: record, at: place, over: work.contents) {
        case .written: return .settled(visit.mirrored)
        case .superseded: return .lookAgain(visit)
        case .pending(let error):
            visit.state = .pending
            visit.message = "An earlier release reads an older value in \(place.route.displayName): \(error.message)"
            visit.errorCode = error.code
            return .settled(visit)
        }
    }

    /// Writes what another program wrote in the key's own place as a record of the library: its revision is derived from its content, which an older place may not tell.
    private func rewrite<Value>(_ value: Value, _ record: StorageRecord, _ work: Work<Value>) async throws -> Bool {
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        origin.merge(work.record.origin)
        let holder = ReferenceHolder(route: work.slot.route, copies: [])
        return try await durableWriter.write(value, work.slot, origin, .kept(record.metadata), if: .revision(record.revision), holder)
            != nil
    }

    private func isOver<Value>(_ work: Work<Value>) async -> Bool {
        if !work.place.isOpen || work.run.endsWindow { return true }
        if await history.ledger.isReleaseRequested(work.slot.route) { return true }
        if (try? await mirroredLocations.isReleased(work.place, for: work.slot.untyped)) == true { return true }
        guard let since = [work.run.windowSince, work.contents.mark?.since].compactMap(\.self).min(),
            let end = work.place.window?.end(since: since), end <= coder.now
        else { return false }
        // Reason: "The window of a collection ends for all records at once" in Docs/Decisions/ReleaseWindows.md.
        return await history.expiries.mayPurge(expiredAt: end)
    }

    /// Ends the window: the key's place says so first, durably. Then the mark goes, and the older copy.
    /// Reason: "The record states the end before the mirror is deleted" in Docs/Decisions/ReleaseWindows.md.
    private func end<Value>(_ work: Work<Value>, _ visit: Visit) async throws -> Outcome {
        guard try await mirrorWriter.release(work.record, at: work.place) else { return .lookAgain(visit) }
        _ = try await residuePurger.settledDurability(of: work.slot.route, nil)
        var visit = visit
        visit.residue += await mirrorWriter.delete(work.contents, at: work.place)
        if visit.state == .unchanged, work.contents.record != nil {
            visit.state = .purged
            visit.from = [work.place.route.reported]
        }
        history.ledger.isReleased(work.slot.route)
        // What an earlier release wrote meanwhile is a conflict now.
        return visit.residue.isEmpty ? .settled(visit) : .lookAgain(visit)
    }
}

extension ReleaseWindowSettler.Outcome {
    /// The same, where a conflict was decided.
    fileprivate func resolved(from place: MirroredLocation) -> Self {
        guard case .lookAgain(var visit?) = self else { return self }
        visit.state = .resolved
        return .lookAgain(visit)
    }
}

extension Visit {
    /// The same, where nothing else was done than to keep an older place up to date.
    fileprivate var mirrored: Visit {
        var visit = self
        if state == .unchanged { visit.state = .mirrored }
        return visit
    }
}

extension EncodedValue {
    /// The same, with what another record has beside its content: when it stops being valid, its attributes, its age.
    /// - Parameters:
    ///   - source: The place of the other record.
    ///   - present: The record that this one replaces, if it is known.
    func mirroring(_ metadata: StorageMetadata, of source: Route, over present: StorageRecord?) -> EncodedValue {
        var (prepared, metadata) = (self, metadata)
        if let mark = metadata.attributes.removeValue(forKey: StorageMetadata.derivedAttribute) {
            let isWeaker = route.protection < source.protection
            for name in DerivedAttributes.names(in: mark) {
                // An earlier release may set these attributes, and expects them in the mirror. A weaker place gets only those that it had
                // already: the older shape may lack the property.
                if route.showsAttributes || isWeaker && present?.metadata.attributes[name] == nil { metadata.attributes[name] = nil }
            }
        }
        prepared.facts = .kept(metadata)
        return prepared
    }
}
