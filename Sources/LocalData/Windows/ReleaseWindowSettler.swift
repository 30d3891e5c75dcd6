import BackendContract
import BackendRuntime

/// Settles a key with a release window, in which its legacy location is kept up to date for an earlier release.
///
/// It applies the changes that an earlier release made in the legacy location to the destination. In a sweep, it also
/// writes the mirror to the legacy location, or ends the window.
struct ReleaseWindowSettler: WindowRules {
    let engine: Engine

    /// The data that the steps of one visit share.
    private struct Work<Value: Codable & Sendable>: Sendable {
        let slot: Slot<Value>
        let run: MigrationRun
        let settled: Settled<Value>
        let record: MirroredRecord
        let place: MirroredLocation
        let step: MigrationStep<Value>
        let contents: MirrorContents

        var value: Value? { if case .value(_, let value) = settled { value } else { nil } }
    }

    func settle<Value>(_ slot: Slot<Value>, _ run: MigrationRun, _ settled: Settled<Value>) async throws -> WindowOutcome {
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
        if !isRead { for place in try windowPlaces.released(of: slot.untyped, origin) { await clear(place) } }
        guard let place = try windowPlaces.place(of: slot.untyped, origin, toEnd: !isRead),
            let step = slot.key.migrations.first(where: { $0.id == place.migration })?.step(for: Value.self), !step.isAggregating
        else { return .ordinary }
        // An earlier release moves the value from still older locations.
        _ = try await settler.settleSource(place.source.key, at: place.route, within: run)
        guard let contents = try await places.read(place) else { return .settled(Visit(state: settled.isRemoved ? .removed : .unchanged)) }
        // The window is over, no program kept it, and there is no mark and no legacy content to delete.
        if !place.isOpen, origin?.isInWindow(of: place.name) != true, contents.isEmpty { return .ordinary }
        let work = Work(
            slot: slot, run: run, settled: settled, record: record, place: place, step: step, contents: contents)
        let standing = await places.standing(of: contents, to: record, at: place)
        switch standing {
        case .changed(let source): return try await fold(source, work, keeps: !place.commitsTogether && source.record.isForeign)
        case .removed: return try await remove(work)
        case .mirrored, .outdated, .doubtful, .conflict, .damaged: break
        }
        // A read resolves no conflict and updates no mirror.
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

    /// Deletes the mark and the mirror of a window that is over. The process that ended the window may have been killed after
    /// it had recorded the end in the destination. A value of an earlier release stays, for the ordinary state table.
    private func clear(_ place: MirroredLocation) async {
        guard let contents = try? await mirroredLocations.read(place), contents.mark != nil || contents.mirror != nil else { return }
        _ = await mirrorWriter.delete(contents, at: place, keepsOthers: true)
    }

    // MARK: Changes by an earlier release

    /// Replaces the value of the destination by the value that an earlier release wrote, or by the `merge` of both values.
    /// - Parameters:
    ///   - keeps: Whether the replaced value is quarantined, because the earlier release may not have read it.
    ///   - isConflict: Whether the conflict policy decided so. The value then expires like the replaced one, unless the value of the
    ///     earlier release expires itself.
    private func fold<Value>(
        _ source: SourceRecord, _ work: Work<Value>, keeps: Bool, isConflict: Bool = false
    ) async throws -> WindowOutcome {
        let (slot, place, route) = (work.slot, work.place, work.slot.route)
        try mover.checkProtection(of: work.step.sources, work.step.options, slot.untyped)
        guard let older = try await value(of: source, work) else {
            throw StorageError(
                StorageError.migrationFailed, key: slot.name,
                "An earlier release wrote \(place.source.name) in \(place.route.domain), and its key cannot decode this value. Both values are unchanged."
            )
        }
        var value = older
        if let merge = work.step.kept?.merge, let newer = work.value {
            value = try await program.wrappingUserErrors(slot.name) { try merge(older, newer) }
        }
        let isLasting = try await settledDurability(of: place.route, nil) == .durable
        if keeps { try await quarantine(work, "replaced by an earlier release") }
        var origin = try await origins.made(of: [source], migration: work.step.id, for: route)
        origin.merge(work.record.origin)
        if isLasting { origin.noteMade(of: place.name) } else { origin.noteOpen(place.name) }
        let facts = WriteAttributes.winning(
            from: [source.record.metadata], over: isConflict ? work.settled.record?.metadata : nil)
        let prepared = try valuePreparer.prepare(value, slot, facts)
        let holder = ReferenceHolder(
            route: route, copies: [source], allowsWeakerProtection: work.step.options.allowsWeakerProtection)
        let written = try await executor.run(prepared, slot, origin: origin, if: .revision(work.record.revision), for: holder)
        guard let written else { return .lookAgain(nil) }
        history.ledger.counts.moved([(route, [place.route], work.step.id)])
        // With a `merge`, the mirror is the result of the merge and not the value of the earlier release.
        let content = Self.content(prepared, of: written.record.metadata, unless: work.step.kept?.merge == nil ? source.record : nil)
        await mirror(content, MirroredRecord(written.record, origin), work)
        return .lookAgain(
            Visit(
                state: .moved, from: [place.route.reported], protectionBefore: place.route.protection,
                bytes: written.record.payload.byteCount))
    }

    /// Returns the content of the mirror after a value was moved from the legacy location to the destination. A record of an
    /// earlier release stays unchanged, byte for byte. A value of another program becomes a record of LocalData.
    /// - Parameters:
    ///   - metadata: The metadata of the destination's record. The mirror of its value has the same expiry.
    ///   - older: The record of the legacy location; nil if the mirror must be made from the value.
    private static func content(
        _ prepared: EncodedValue, of metadata: StorageMetadata, unless older: StorageRecord?
    ) -> MirrorWriter.Content {
        if let older, !older.isForeign { return .unchanged(older) }
        return prepared.older.first.map { .value($0.mirroring(metadata, of: prepared.route, over: older)) } ?? older.map(
            MirrorWriter.Content.unchanged)
            ?? .removal
    }

    func afterMove(of record: MirroredRecord, _ prepared: EncodedValue, from source: StorageRecord?, at place: MirroredLocation) async {
        guard let contents = try? await mirrorWriter.outdated(record, at: place) else { return }
        let content = Self.content(prepared, of: record.metadata, unless: source)
        _ = await mirrorWriter.write(content, of: record, at: place, over: contents)
    }

    /// Returns the value that the migration makes from a record of the legacy location; nil if the record cannot be decoded.
    private func value<Value>(of source: SourceRecord, _ work: Work<Value>) async throws -> Value? {
        func decoded<Key: TypedKey>(_ key: Key) async throws -> (any Sendable)? {
            try await coder.decode(source.record, Slot(key: key.typed, route: source.route))
        }
        do {
            guard let older = try await decoded(work.place.source.key) else { return nil }
            return try await program.wrappingUserErrors(work.slot.name) { try work.step.combine([older]) }
        } catch let error as StorageError where error.meansUndecodable { return nil }
    }

    /// Removes the value of the destination, because an earlier release removed it in the legacy location.
    private func remove<Value>(_ work: Work<Value>) async throws -> WindowOutcome {
        let isLasting = try await settledDurability(of: work.place.route, nil) == .durable
        try await quarantine(work, "removed by an earlier release")
        return try await writeTombstone(work, .removed, isMade: isLasting)
    }

    /// Writes a tombstone to the destination, and its mirror, unless the destination changed since it was read.
    /// - Parameter isMade: Whether the tombstone records that it was made from a durable removal in the legacy location. The
    ///   next write of an earlier release there then counts as a write after the removal.
    private func writeTombstone<Value>(
        _ work: Work<Value>, _ state: MigrationReport.State, isMade: Bool = false
    ) async throws -> WindowOutcome {
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        origin.merge(work.record.origin)
        origin.recordAbsence(of: work.place.name)
        if isMade { origin.noteMade(of: work.place.name) }
        let metadata = try await coder.tombstone(origin, work.slot.route)
        let written = try await executor.restate(.tombstone(metadata), at: work.slot.route, over: work.record.revision)
        guard let revision = written?.revision else { return .lookAgain(nil) }
        try await Backups(engine: engine).purgeAfterRemoval(work.slot.untyped)
        await mirror(.removal, MirroredRecord(StorageTombstone(metadata: metadata, revision: revision), origin), work)
        return .lookAgain(Visit(state: state, from: [work.place.route.reported]))
    }

    // MARK: Conflicts

    /// Applies the key's conflict policy to a change by an earlier release that may not have read the key's value. The losing
    /// value is quarantined first.
    /// - Parameter source: The value that the earlier release wrote; nil if it removed the value.
    private func decide<Value>(_ source: SourceRecord?, _ work: Work<Value>) async throws -> WindowOutcome {
        guard let source else {
            guard case .sourceWins = work.slot.key.conflictPolicy else {
                return try await finish(work, isMirrored: false, isMarked: false, state: .resolved)
            }
            try await quarantine(work, "replaced in a conflict")
            return try await writeTombstone(work, .resolved)
        }
        let older = try await value(of: source, work)
        if let older, let value = work.value,
            try coder.prepare(older, work.slot, .new).bytes == coder.bytes(of: value, work.slot.key)
        {
            return try await finish(work, isMirrored: false, isMarked: false)
        }
        // Another program cannot read a tombstone, and its value has no revision that distinguishes a new write from an old one.
        let isUnseen = work.settled.isRemoved && source.record.isForeign
        switch work.slot.key.conflictPolicy {
        case .sourceWins where !isUnseen:
            return try await fold(source, work, keeps: true, isConflict: true).resolved(from: work.place)
        case .merge(let merge) where !isUnseen:
            guard let older else { throw Self.unreadable(work) }
            let merged = try await program.wrappingUserErrors(work.slot.name) { try merge(work.value, older) }
            try await quarantine(source, work, "conflict with \(work.slot.name)")
            try await quarantine(work, "replaced in a conflict")
            guard let merged else { return try await writeTombstone(work, .resolved) }
            return try await replace(with: merged, of: source, work)
        default:
            try await quarantine(source, work, "conflict with \(work.slot.name)")
            return try await finish(work, isMirrored: false, isMarked: false, state: .resolved)
        }
    }

    private static func unreadable<Value>(_ work: Work<Value>) -> StorageError {
        StorageError(
            StorageError.migrationFailed, key: work.slot.name,
            "The legacy location has another value than \(work.slot.route.domain), and it cannot be read. Both values are unchanged.")
    }

    private func replace<Value>(with value: Value, of source: SourceRecord, _ work: Work<Value>) async throws -> WindowOutcome {
        try mover.checkProtection(of: work.step.sources, work.step.options, work.slot.untyped)
        let isLasting = try await settledDurability(of: work.place.route, nil) == .durable
        var origin = try await origins.made(of: [source], migration: nil, for: work.slot.route)
        origin.merge(work.record.origin)
        // The legacy value is a part of the merged value. If an earlier release has removed it since, it removed this value too.
        if isLasting { origin.noteMade(of: work.place.name) } else { origin.noteKept(work.place.name) }
        let facts = WriteAttributes.merged(from: [source.record.metadata], with: work.settled.record?.metadata)
        let prepared = try valuePreparer.prepare(value, work.slot, facts)
        let holder = ReferenceHolder(
            route: work.slot.route, copies: [source],
            allowsWeakerProtection: work.step.options.allowsWeakerProtection)
        let written = try await executor.run(prepared, work.slot, origin: origin, if: .revision(work.record.revision), for: holder)
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
        // If the window is over, no mirror is written: a sweep ends the window.
        if work.place.isOpen { _ = await mirrorWriter.write(content, of: record, at: work.place, over: work.contents) }
    }

    // MARK: The rest of a sweep

    /// Reconciles the other legacy locations with the destination. Then writes the mirror to this one, or ends the window.
    private func finish<Value>(
        _ work: Work<Value>, isMirrored: Bool, isMarked: Bool, state: MigrationReport.State? = nil
    ) async throws -> WindowOutcome {
        let (slot, place, record) = (work.slot, work.place, work.record)
        guard
            var visit = try await Reconciler(engine: engine).reconcile(
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
        // Make the record durable first: a power loss must not undo the record and leave its mirror.
        _ = try await settledDurability(of: slot.route, record.origin)
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

    /// Rewrites a value of another program in the destination as a record of LocalData. The revision of such a value is
    /// derived from its content. A mirror contains the revision, and its store may protect less than the destination.
    private func rewrite<Value>(_ value: Value, _ record: StorageRecord, _ work: Work<Value>) async throws -> Bool {
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        origin.merge(work.record.origin)
        let holder = ReferenceHolder(route: work.slot.route, copies: [])
        let prepared = try coder.prepare(value, work.slot, .kept(record.metadata))
        return try await executor.run(prepared, work.slot, origin: origin, if: .revision(record.revision), for: holder) != nil
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

    /// Ends the window. The record of the destination first states the end, durably. Then the mark and the legacy copy are
    /// deleted.
    /// Reason: "The record states the end before the mirror is deleted" in Docs/Decisions/ReleaseWindows.md.
    private func end<Value>(_ work: Work<Value>, _ visit: Visit) async throws -> WindowOutcome {
        guard try await mirrorWriter.release(work.record, at: work.place) else { return .lookAgain(visit) }
        _ = try await settledDurability(of: work.slot.route, nil)
        var visit = visit
        visit.residue += await mirrorWriter.delete(work.contents, at: work.place)
        if visit.state == .unchanged, work.contents.record != nil {
            visit.state = .purged
            visit.from = [work.place.route.reported]
        }
        history.ledger.isReleased(work.slot.route)
        // If an earlier release wrote since the legacy location was read, its value remains and is a conflict now: re-read the key.
        return visit.residue.isEmpty ? .settled(visit) : .lookAgain(visit)
    }
}

extension WindowOutcome {
    /// Returns this outcome with the state `resolved`, for a visit that decided a conflict.
    fileprivate func resolved(from place: MirroredLocation) -> Self {
        guard case .lookAgain(var visit?) = self else { return self }
        visit.state = .resolved
        return .lookAgain(visit)
    }
}

extension Visit {
    /// Returns this visit with the state `mirrored` instead of `unchanged`.
    fileprivate var mirrored: Visit {
        var visit = self
        if state == .unchanged { visit.state = .mirrored }
        return visit
    }
}

extension EncodedValue {
    /// Returns this value with the metadata of the record that it mirrors, such as expiry, attributes and creation time.
    /// - Parameters:
    ///   - metadata: The metadata of the mirrored record.
    ///   - source: The route of the mirrored record.
    ///   - present: The record that the mirror replaces, if it is known.
    func mirroring(_ metadata: StorageMetadata, of source: Route, over present: StorageRecord?) -> EncodedValue {
        var (prepared, metadata) = (self, metadata)
        if let mark = metadata.attributes.removeValue(forKey: StorageMetadata.derivedAttribute) {
            let isWeaker = route.protection < source.protection
            for name in DerivedAttributes.names(in: mark) {
                // An earlier release may set these attributes, and expects them in the mirror. A store that protects less gets only
                // those that the replaced record has, because the older shape may lack the property.
                if route.showsAttributes || isWeaker && present?.metadata.attributes[name] == nil { metadata.attributes[name] = nil }
            }
        }
        prepared.facts = .kept(metadata)
        return prepared
    }
}
