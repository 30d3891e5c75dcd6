import BackendContract
import BackendRuntime

/// What records say of their past: which copies elsewhere they replaced.
struct Origins: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History) { (self.slots, self.coder, self.history) = (slots, coder, history) }

    private var residuePurger: ResiduePurger { ResiduePurger(slots, coder, history) }

    /// The origin of a value that was made of others: the copies it was made of, and what those replaced in their turn.
    func made(of sources: [SourceRecord], migration: String?, for route: Route) async throws -> RecordOrigin {
        var origin = RecordOrigin(migration: migration, boot: slots.runtime.host.bootID)
        for source in sources {
            let past =
                route.protection >= source.route.protection ? try await coder.origin(of: source.record.metadata, source.route) : nil
            if migration == nil {
                origin.add(source, destination: route)
                origin.merge(past)
            } else {
                origin.addSource(source, destination: route)
                origin.mergeSource(past)
            }
        }
        return origin
    }

    /// Notes that a record is made of what an older place holds, which is made certain to last.
    func noteMade(_ origin: inout RecordOrigin, of place: MirroredLocation) async throws {
        let achieved = try await residuePurger.settledDurability(of: place.route, nil)
        if achieved >= place.route.capabilities.durability, achieved != .untilPowerLoss { origin.noteMade(of: place.name) }
    }

    /// The origin of a record that replaces another one. Without a migration of the key's own it is the old record's: records of a collection may have been moved by a
    /// call, and a copy that remained must not replace a later value.
    func next(_ slot: UntypedSlot, over probe: StorageProbe, _ kept: MirroredLocations.Seen? = nil) async throws -> RecordOrigin? {
        if slot.key.hasMigration {
            return try await carried(
                slot, over: probe, try await LegacyLocations(slots).read(for: slot, except: kept), kept)
        }
        return try await self.kept(slot, over: probe)
    }

    /// The origin that a record already has, for the one that replaces it; nil where it has none.
    func kept(_ slot: UntypedSlot, over probe: StorageProbe) async throws -> RecordOrigin? {
        probe.metadata?.origin == nil ? nil : try await carried(slot, over: probe, .none)
    }

    /// The origin of a record that replaces another one: what the old one names, and the copies that are there now.
    /// - Throws: ``StorageError`` when a legacy location that wins conflicts cannot be read: its content could not be named, and would later undo the change.
    func carried(
        _ slot: UntypedSlot, over probe: StorageProbe, _ contents: LegacyLocations.Contents, _ kept: MirroredLocations.Seen? = nil
    ) async throws -> RecordOrigin {
        // Reason: "With `.sourceWins`, an unreadable source blocks changes" in Docs/Decisions/Migration.md.
        if slot.key.sourceWinsConflicts { for place in contents.unreadable { try await requireDamage(place, of: slot.name) } }
        var origin = RecordOrigin(boot: slots.runtime.host.bootID)
        try await requireLasting(contents.found, for: slot)
        for copy in contents.found { origin.add(copy, destination: slot.route) }
        if let metadata = probe.metadata {
            do {
                origin.merge(try await coder.origin(of: metadata, slot.route))
            } catch let error as StorageError
                where error.meansUndecodable
            {
                // The old record's seal does not open: its copies are unknown, and will count as conflicts instead of copies.
            }
        }
        // Reason: "A durably empty legacy location makes later writes new" in Docs/Decisions/Migration.md.
        for place in contents.empty where origin.awaitsAbsence(of: place.place.text) {
            if await isDurablyEmpty(place) { origin.recordAbsence(of: place.place.text) }
        }
        if let kept { try await note(kept, in: &origin, slot.key) }
        return origin
    }

    /// The origin of a removal, after which the older copies are deleted. If a window is over for this program and no record says so, the removal does: a program that keeps the
    /// window would take the emptied place for a removal by an earlier release.
    func removed(
        _ slot: UntypedSlot, over probe: StorageProbe, _ contents: LegacyLocations.Contents, _ kept: MirroredLocations.Seen?
    ) async throws -> RecordOrigin {
        var origin = try await carried(slot, over: probe, contents, kept)
        if kept == nil, let place = try MirroredLocations(slots, coder, history).declared(by: slot), !place.isOpen,
            contents.found.contains(where: { $0.route.slot == place.route.slot })
        {
            origin.noteReleased(place.name)
        }
        return origin
    }

    /// Notes in a record what its writer saw in the older place of a release window. What an earlier release wrote there is made certain to last before it is named; a mirror
    /// does not displace it.
    private func note(_ kept: MirroredLocations.Seen, in origin: inout RecordOrigin, _ key: any TypedKey) async throws {
        let place = kept.place
        if !place.isOpen { return origin.noteReleased(place.name) }
        origin.noteOpen(place.name)
        guard let contents = kept.contents else { return }
        if let record = contents.record {
            origin.noteKept(place.name)
            if contents.mirror != nil { return }
            // Reason: "A legacy write is durable before a record names it" in Docs/Decisions/ReleaseWindows.md.
            do { _ = try await residuePurger.settledDurability(of: place.route, nil) } catch let error as StorageError {
                // The key's own place alone decides whether a change succeeds, unless what is not named here would undo it.
                if key.sourceWinsConflicts { throw error }
                return
            }
            let source = SourceRecord(key: AnyStorageKey(base: place.source.key), route: place.route, record: record)
            origin.add(source, destination: place.destination)
        } else if contents.mirror == nil, await isDurablyEmpty(place.route) {
            origin.recordAbsence(of: place.name)
        }
    }

    /// Makes other programs' values durable before they are named, where they may win conflicts: a power cut could bring back what stood there before, which nothing names.
    func requireLasting(_ copies: [SourceRecord], for slot: UntypedSlot) async throws {
        guard slot.key.mayLoseConflicts else { return }
        for copy in copies where copy.record.isForeign { _ = try await residuePurger.settledDurability(of: copy.route, nil) }
    }

    /// Whether the emptiness of a place, which has been seen, lasts. A power cut would otherwise bring the old content back, and it would count as a new write.
    private func isDurablyEmpty(_ place: Route) async -> Bool {
        (try? await residuePurger.settledDurability(of: place, nil)) == .durable
    }

    /// Refuses a change because of a location that could not be read, unless its content is damaged: damage wins no conflict. A location that can be read again meanwhile
    /// was not named all the same.
    private func requireDamage(_ place: Route, of name: String) async throws {
        if case .corrupt = try await place.read() { return }
        throw StorageError(
            StorageError.unavailable, key: name,
            "A legacy location, \(place.displayName), wins conflicts by this key's policy and could not be read: its content would later undo the change. Nothing was changed; try again when it can be read."
        )
    }

    /// Whether a record in a legacy location is a copy of what a value replaced: the value's origin names it, or an older version of the program has written it again, or has
    /// made it of what the origin names.
    func match(_ source: SourceRecord, _ origin: RecordOrigin?) async -> RecordOrigin.Match {
        let past = source.record.metadata.origin == nil ? nil : try? await coder.origin(of: source.record.metadata, source.route)
        // What a release window left says nothing that the key's own place did not say.
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
