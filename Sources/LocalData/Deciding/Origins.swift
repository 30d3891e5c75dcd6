import BackendContract
import BackendRuntime

/// Creates the origins of records, and matches older copies with them. An origin names the copies in other locations that a record
/// replaced.
struct Origins: EnginePart, Sendable {
    let engine: Engine

    /// Returns the origin of a value that was made from others. It names the copies from which the value was made, and the copies that
    /// these replaced.
    func made(of sources: [SourceRecord], migration: String?, for route: Route) async throws -> RecordOrigin {
        var origin = RecordOrigin(migration: migration, boot: slots.runtime.host.bootID)
        for source in sources {
            let past = try await past(of: source, for: route)
            if migration == nil {
                origin.add(source, destination: route)
                origin.merge(past)
            } else {
                origin.addSource(source, sources.count == 1 ? past : nil, destination: route)
                origin.mergeSource(past)
            }
        }
        return origin
    }

    /// Returns the origin of an older copy, for a record in another location. If that location protects less, the origin has no
    /// fingerprints.
    func past(of copy: SourceRecord, for route: Route) async throws -> RecordOrigin? {
        guard copy.record.metadata.origin != nil else { return nil }
        let past = try await coder.origin(of: copy.record.metadata, copy.route)
        return route.protection >= copy.route.protection ? past : past?.withoutFingerprints
    }

    /// Makes the content of a legacy location durable, and notes in an origin that the record was made from it. Notes nothing if the
    /// achieved durability is less than the store declares, or only `untilPowerLoss`.
    func noteMade(_ origin: inout RecordOrigin, of place: MirroredLocation) async throws {
        let achieved = try await settledDurability(of: place.route, nil)
        if achieved >= place.route.capabilities.durability, achieved != .untilPowerLoss { origin.noteMade(of: place.name) }
    }

    /// Returns the origin of a record that replaces another one. If the key has no migration, this is the origin of the replaced record: a
    /// call may have moved records of a collection, and a copy that remained must not replace a later value.
    func next(_ slot: UntypedSlot, over probe: StorageProbe, _ kept: MirroredLocation.Seen? = nil) async throws -> RecordOrigin? {
        try await next(slot, over: probe, try await LegacyLocations(engine: engine).readReplaced(by: slot, except: kept), kept)
    }

    /// Like ``next(_:over:_:)``, with the contents of the legacy locations.
    func next(
        _ slot: UntypedSlot, over probe: StorageProbe, _ contents: LegacyLocations.Contents, _ kept: MirroredLocation.Seen?
    ) async throws -> RecordOrigin? {
        if slot.key.hasMigration || !contents.lists.isEmpty || !contents.unreadable.isEmpty {
            return try await carried(slot, over: probe, contents, kept)
        }
        guard probe.metadata?.origin != nil else { return nil }
        return try await carried(slot, over: probe, contents)
    }

    /// Returns the origin of a record, for the record that replaces it; nil if it has none.
    func kept(_ slot: UntypedSlot, over probe: StorageProbe) async throws -> RecordOrigin? {
        probe.metadata?.origin == nil ? nil : try await carried(slot, over: probe, .none)
    }

    /// Returns the origin of a record that replaces another one. It names the copies that the replaced record names, the copies in the
    /// legacy locations now, and the copies that these replaced. If a value in a legacy location may win conflicts, the origin also says
    /// which locations could not be read.
    /// - Throws: ``StorageError`` if a legacy location that wins conflicts cannot be read: its content could not be named, and would later
    ///   undo the change.
    func carried(
        _ slot: UntypedSlot, over probe: StorageProbe, _ contents: LegacyLocations.Contents, _ kept: MirroredLocation.Seen? = nil
    ) async throws -> RecordOrigin {
        // Reason: "With `.sourceWins`, an unreadable source blocks changes" in Docs/Decisions/Migration.md.
        if slot.key.sourceWinsConflicts { for place in contents.unreadable { try await requireDamage(place, of: slot.name) } }
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        let replaced = contents.found + contents.lists
        try await requireLasting(replaced, for: slot)
        if slot.key.mayLoseConflicts { for place in contents.unreadable { origin.recordUnnamed(place.place.text) } }
        for copy in replaced { origin.add(copy, destination: slot.route) }
        for copy in replaced {
            // A copy whose seal does not open is named, but the copies that it replaced are unknown.
            if let past = try? await past(of: copy, for: slot.route) { origin.mergeCopies(past) }
        }
        if let metadata = probe.metadata {
            do {
                origin.merge(try await coder.origin(of: metadata, slot.route))
            } catch let error as StorageError
                where error.meansUndecodable
            {
                // The seal of the replaced record does not open, so the copies that it names are unknown. They will count as conflicts.
            }
        }
        // Reason: "A durably empty legacy location makes later writes new" in Docs/Decisions/Migration.md.
        for place in contents.empty where origin.awaitsAbsence(of: place.place.text) {
            let name = place.place.text
            if await isDurablyEmpty(place) { origin.recordAbsence(of: name) } else { origin.recordEmpty(name) }
        }
        if let kept { try await note(kept, in: &origin, slot.key) }
        return origin
    }

    /// Returns the origin of a removal, after which the older copies are deleted. If a window is over for this program and no record says
    /// so, the removal records it. Otherwise a program that keeps the window would take the emptied legacy location for a removal by an
    /// earlier release.
    func removed(
        _ slot: UntypedSlot, over probe: StorageProbe, _ contents: LegacyLocations.Contents, _ kept: MirroredLocation.Seen?
    ) async throws -> RecordOrigin {
        var origin = try await carried(slot, over: probe, contents, kept)
        if kept == nil, let place = try windowPlaces.declared(by: slot), !place.isOpen,
            contents.found.contains(where: { $0.route.slot == place.route.slot })
        {
            origin.noteReleased(place.name)
        }
        return origin
    }

    /// Notes in the origin of a record what its writer read in the legacy location of a release window. Content that an earlier release
    /// wrote there is made durable before the origin names it. A mirror does not replace that content in the origin.
    private func note(_ kept: MirroredLocation.Seen, in origin: inout RecordOrigin, _ key: any TypedKey) async throws {
        let place = kept.place
        if !place.isOpen { return origin.noteReleased(place.name) }
        origin.noteOpen(place.name)
        guard let contents = kept.contents else { return }
        if let record = contents.record {
            origin.noteKept(place.name)
            if contents.mirror != nil { return }
            // Reason: "A legacy write is durable before a record names it" in Docs/Decisions/ReleaseWindows.md.
            do { _ = try await settledDurability(of: place.route, nil) } catch let error as StorageError {
                // A change may succeed without naming this content. If legacy locations win conflicts, the content would later undo the
                // change, so the change fails.
                if key.sourceWinsConflicts { throw error }
                return
            }
            let source = SourceRecord(key: AnyStorageKey(base: place.source.key), route: place.route, record: record)
            origin.add(source, destination: place.destination)
        } else if contents.mirror == nil, await isDurablyEmpty(place.route) {
            origin.recordAbsence(of: place.name)
        }
    }

    /// Makes copies durable before an origin names them, if they may win conflicts. Otherwise a power cut could bring back earlier values,
    /// which no origin names. Another program wrote such a copy, or a call whose answer was lost.
    func requireLasting(_ copies: [SourceRecord], for slot: UntypedSlot) async throws {
        guard slot.key.mayLoseConflicts else { return }
        for copy in copies { _ = try await settledDurability(of: copy.route, nil) }
    }

    /// Returns whether a location that was found empty is durably empty. If it is not, a power cut may bring its old content back, which
    /// would then count as a new write.
    func isDurablyEmpty(_ place: Route) async -> Bool {
        (try? await settledDurability(of: place, nil)) == .durable
    }

    /// Throws because a location could not be read, unless its content is damaged: damaged content wins no conflict. Also throws if the
    /// location can be read by now, because the origin does not name its content.
    private func requireDamage(_ place: Route, of name: String) async throws {
        if case .corrupt = try await place.read() { return }
        throw StorageError(
            StorageError.unavailable, key: name,
            "A legacy location, \(place.displayName), wins conflicts by this key's policy and could not be read: its content would later undo the change. Nothing was changed; try again when it can be read."
        )
    }

    /// Returns whether a record in a legacy location is a copy that a value replaced. It is a copy if the value's origin names it. It is
    /// also one if an older version of the program rewrote such a copy, or made the record from copies that the origin names.
    func match(_ source: SourceRecord, _ origin: RecordOrigin?) async -> RecordOrigin.Match {
        let past = source.record.metadata.origin == nil ? nil : try? await coder.origin(of: source.record.metadata, source.route)
        // The mirror of a value is always a copy: it has only content that was in the destination.
        if past?.mirrors?.kind == .value { return .exact }
        guard let origin else { return .none }
        var match = origin.match(source.record, at: source.route.place.text)
        if match != .exact, let past {
            match = max(match, origin.match(rewriteOf: past, at: source.route.place.text))
            if past.migration != nil { match = max(match, origin.match(madeOf: past)) }
        }
        return match
    }
}
