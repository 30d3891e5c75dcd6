import BackendContract

/// The legacy location that a release window keeps up to date. "Release windows" in `Docs/Design.md` has the table of
/// states and the order of writes.
struct MirroredLocation: Sendable {
    /// The key's own place.
    let destination: Route
    /// The older place, and the key that an earlier release reads it with.
    let source: UntypedSlot
    /// The slot of the mark: it names the record whose mirror was written last. An earlier release does not know it, and does not change it.
    let mark: Route
    /// The migration that the place is the source of.
    let migration: String
    /// How long it is kept; nil where the program does not say so any more.
    let window: ReleaseWindow?
    let options: MigrationOptions
    /// Where the older place is a record's, the mark of its collection.
    let collection: Route?
    /// Whether this program keeps the place up to date. If not, the window is over, and the next sweep empties the place.
    var isOpen: Bool

    var route: Route { source.route }
    /// The place as origins name it.
    var name: String { route.place.text }
    /// Whether the mark is in the older place's store, which may commit both together.
    var marksInPlace: Bool { mark.slot.store == route.slot.store }
    var commitsTogether: Bool { marksInPlace && route.capabilities.atomicBatch }
    /// The mark on whose removal epoch a write depends. Nil where removals leave tombstones for good.
    var epoch: Route? { commitsTogether ? collection : nil }

    /// Whether the window matters for a record of the key's own place: it is open, or the record was written in it; or it has to be ended.
    func matters(to origin: RecordOrigin?, toEnd: Bool) -> Bool {
        if origin?.isReleased(name) == true { return false }
        return isOpen || origin?.isInWindow(of: name) == true || toEnd && window != nil
    }
}

/// What the older place and its mark hold.
struct MirrorContents: Sendable {
    let older: StorageProbe
    /// The origin of what the older place holds.
    let origin: RecordOrigin?
    let mark: RecordOrigin.Mirror?
    /// That the older place's collection is in the removal epoch in which this was read.
    var epoch: Committer.Change?

    /// The record of the key's place that the older place holds a mirror of; nil for what an earlier release wrote. An earlier release that removes a mirror may keep its origin: a
    /// removal with the origin of a value is no mirror.
    /// Reason: "A mirror names the record that it copies" in Docs/Decisions/ReleaseWindows.md.
    var mirror: RecordOrigin.Mirror? {
        switch (origin?.mirrors, older) {
        case (let mirror?, .value) where mirror.kind == .value: mirror
        case (let mirror?, .tombstone) where mirror.kind == .removed: mirror
        default: nil
        }
    }

    /// The mirror that an earlier release removed, if the removal kept its origin.
    var removedMirror: RecordOrigin.Mirror? {
        guard case .tombstone = older, let mirror = origin?.mirrors, mirror.kind == .value else { return nil }
        return mirror
    }

    var record: StorageRecord? { older.record }

    var isDamaged: Bool { if case .corrupt = older { true } else { false } }

    /// Whether neither an earlier release nor a window has left anything.
    var isEmpty: Bool { mark == nil && older.revision == nil }
}

/// A settled record of a key's own place, as release windows see it.
struct MirroredRecord: Sendable {
    let revision: StorageRevision
    let origin: RecordOrigin?
    let metadata: StorageMetadata
    /// The value's content; nil for a removal.
    let payload: StoragePayload?
    let isForeign: Bool

    var isRemoved: Bool { payload == nil }

    init(_ record: StorageRecord, _ origin: RecordOrigin?) {
        (revision, self.origin, metadata, payload, isForeign) = (record.revision, origin, record.metadata, record.payload, record.isForeign)
    }

    init(_ tombstone: StorageTombstone, _ origin: RecordOrigin?) {
        (revision, self.origin, metadata, payload, isForeign) = (tombstone.revision, origin, tombstone.metadata, nil, false)
    }

    /// Whether a mirror is one of this record, or a mark names it.
    func isNamed(by mirror: RecordOrigin.Mirror) -> Bool {
        (mirror.kind == .removed) == isRemoved && RecordOrigin.isMirror(mirror, of: revision, origin)
    }
}

/// The value changed since a change was made of it.
struct ChangedMeanwhile: Error {}

/// Finds and reads the older places that release windows keep up to date.
struct MirroredLocations: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History) { (self.slots, self.coder, self.history) = (slots, coder, history) }

    // MARK: Finding

    /// The older place that a key keeps up to date, if its window matters for a record: it is open, or the record was written in it.
    /// - Parameters:
    ///   - origin: The origin of what the key's place holds; nil where it holds nothing, or says nothing.
    ///   - toEnd: Whether a window counts that has to be ended: one that is over for this program, whose record does not say so yet, or one that the program has dropped without
    ///     ending it.
    /// - Throws: ``StorageError`` for a window that cannot be kept.
    func place(of slot: UntypedSlot, _ origin: RecordOrigin?, toEnd: Bool = false) throws -> MirroredLocation? {
        guard slot.key.releaseWindow != nil || toEnd else { return nil }
        for migration in slot.key.migrations where migration.window != nil || toEnd {
            guard let kept = try place(of: slot, migration), kept.matters(to: origin, toEnd: toEnd) else { continue }
            if kept.isOpen { try requireUsable(kept, slot) }
            return kept
        }
        return nil
    }

    /// The older place of a window that a key declares, for a value that is about to come from it: open or over. One that is over is emptied by a sweep, once the value says so.
    func declared(by slot: UntypedSlot) throws -> MirroredLocation? {
        if let open = try place(of: slot, nil) { return open }
        guard slot.key.releaseWindow != nil else { return nil }
        return try slot.key.migrations.first { $0.window != nil }.flatMap { try place(of: slot, $0) }
    }

    /// The older places of windows that a record says are over.
    func released(of slot: UntypedSlot, _ origin: RecordOrigin?) throws -> [MirroredLocation] {
        try slot.key.migrations.compactMap { try place(of: slot, $0) }.filter { origin?.isReleased($0.name) == true }
    }

    /// The place of a slot's value in an older collection, whether a window matters or not.
    func place(of slot: UntypedSlot, at older: PhysicalSlot) throws -> MirroredLocation? {
        for migration in slot.key.migrations {
            if let place = try place(of: slot, migration), place.route.slot == older { return place }
        }
        return nil
    }

    /// The older place of a migration; nil for one that cannot have a window.
    private func place(of slot: UntypedSlot, _ migration: AnyStorageMigration) throws -> MirroredLocation? {
        guard !migration.keepsSources, migration.sources.count == 1, let options = migration.options else { return nil }
        let source = try slots.routes.slot(migration.sources[0].base)
        if source.id == slot.id, migration.window == nil { return nil }
        return MirroredLocation(
            destination: slot.route, source: source, mark: mark(of: source.route, beside: slot.route), migration: migration.id,
            window: migration.window, options: options,
            collection: source.key.membership.map { source.route.beside(in: .collections, named: $0.entity) },
            isOpen: migration.window?.isOpen(for: history.applicationVersion) ?? false)
    }

    /// The place of the mark: in the older place's store, or where that has no room for it, in the key's own.
    private func mark(of source: Route, beside destination: Route) -> Route {
        func beside(_ route: Route) -> Route { route.beside(in: Self.namespace(of: route.address.namespace)) }
        let mark = beside(source)
        do throws(BackendError) {
            try source.backend.validate(mark.address)
            return mark
        } catch { return beside(destination) }
    }

    /// The part of a store that holds marks.
    static func namespace(of namespace: StorageNamespace) -> StorageNamespace { StorageNamespace("window:\(namespace.name)") }

    /// Fails for a window that cannot be kept, before anything is read.
    func requireUsable(_ place: MirroredLocation, _ slot: UntypedSlot) throws {
        func refuse(_ code: StorageError.Code, _ message: String) -> StorageError {
            StorageError(code, key: slot.name, "\(message) Nothing was changed.")
        }
        // Reason: "The older shape stays in a legacy location" in Docs/Decisions/ReleaseWindows.md.
        if place.route.slot == slot.id {
            throw refuse(
                StorageError.unsupported,
                "\(place.source.name) is the key's own place: a release window is for an older place beside it. Give the new shape a key of another name, and move it from this one."
            )
        }
        if place.source.key.releaseWindow != nil {
            throw refuse(
                StorageError.unsupported,
                "\(place.source.name) has a release window of its own. End that one first, or move from the oldest place directly.")
        }
        if slot.key.migrations.filter({ $0.window != nil }).count > 1 {
            throw refuse(StorageError.unsupported, "\(slot.name) has several release windows. Keep one older place up to date.")
        }
        if place.route.protection < slot.route.protection, !place.options.keepsWeakerCopy {
            throw refuse(
                StorageError.weakerProtection,
                "\(place.source.name) in \(place.route.domain) is protected as \(place.route.protection), and \(slot.name) as \(slot.route.protection): a release window keeps a copy there. Say MigrationOptions(keepsWeakerCopy: true) if that is meant, or move without a window."
            )
        }
        if !place.marksInPlace, !place.options.comparesByContent {
            throw refuse(
                StorageError.unsupported,
                "\(place.route.domain) holds bare values: what an earlier release writes there can be known by its content only. Say MigrationOptions(comparesByContent: true) if that is enough, or move without a window."
            )
        }
    }

    /// Whether the mark of a record's collection says that the window of all records is over: one that is new cannot say so itself.
    func isReleased(_ place: MirroredLocation, for slot: UntypedSlot) async throws -> Bool {
        guard let own = slot.key.membership?.gathered, let older = place.collection else { return false }
        return ReleasedCollections(in: try await RemovalEpochs(slots, coder).mark(of: own).probe().metadata).contains(older)
    }

    /// The older copies that a collection keeps on purpose now, for a report.
    func copy<Record>(of collection: StorageCollection<Record>) async -> KeptCopy? {
        guard let location = collection.legacyLocations.first(where: { $0.source.window != nil }), let window = location.source.window,
            window.isOpen(for: history.applicationVersion), let own = try? slots.routes.slot(for: collection.placeholder).route,
            let older = try? slots.routes.route(for: location.key), let mark = try? await own.read(),
            !ReleasedCollections(in: mark.metadata).contains(older)
        else { return nil }
        return KeptCopy(
            place: older.displayName, protection: older.protection, isWeaker: older.protection < own.protection, until: "\(window)")
    }

    /// The older copy that a key keeps on purpose now, for a report.
    func copy(of slot: UntypedSlot) async -> KeptCopy? {
        guard let window = slot.key.releaseWindow, let probe = try? await slot.route.read(),
            let place = try? place(of: slot, try? await origin(of: probe, slot)), place.isOpen
        else { return nil }
        return KeptCopy(
            place: place.route.displayName, protection: place.route.protection, isWeaker: place.route.protection < slot.route.protection,
            until: "\(window)")
    }

    // MARK: Reading

    /// What an older place and its mark hold; nil for a place that is out of reach and may be skipped, and for one that another type's record has.
    /// - Throws: ``StorageError`` when that cannot be known.
    func read(_ place: MirroredLocation) async throws -> MirrorContents? {
        let (mark, older, epoch) = try await probes(place)
        switch older {
        case .locked: throw StorageError.locked(place.source.name, place.route.domain)
        case .unavailable(let error):
            if place.options.whenSourceUnavailable == .skip { return nil }
            throw StorageError.from(error, key: place.source.name)
        case .value(let record) where place.source.key.refuses(record.metadata): return nil
        default: break
        }
        var contents = try await self.contents(mark, older, place)
        if let epoch, let mark = place.epoch { contents.epoch = .check(mark, if: try mark.known(epoch).unchanged) }
        return contents
    }

    private func contents(_ mark: StorageProbe, _ older: StorageProbe, _ place: MirroredLocation) async throws -> MirrorContents {
        MirrorContents(
            older: older, origin: try await origin(of: older, place.route), mark: try await origin(of: mark, place.mark)?.mirrors)
    }

    /// The mark, and then the older place: with one call where they are in one store.
    private func probes(_ place: MirroredLocation) async throws -> (mark: StorageProbe, older: StorageProbe, epoch: StorageProbe?) {
        guard place.marksInPlace else { return (try await place.mark.probe(), try await place.route.read(), nil) }
        let routes = [place.mark, place.route] + (place.epoch.map { [$0] } ?? [])
        let probes = try await Route.read(routes, .validated)
        return (probes[0], probes[1], probes.count > 2 ? probes[2] : nil)
    }

    /// What several older places of one collection hold, to look at only: marks, and then places, with few calls. Nil for places that are out of reach and may be skipped.
    /// - Throws: ``StorageError`` when that cannot be known.
    func read(_ places: [MirroredLocation]) async throws -> [MirrorContents]? {
        do {
            let marks = try await Route.probes(inAnyStore: places.map(\.mark))
            let older = try await Route.probes(inAnyStore: places.map(\.route))
            var contents: [MirrorContents] = []
            for (place, (mark, older)) in zip(places, zip(marks, older)) { contents.append(try await self.contents(mark, older, place)) }
            return contents
        } catch let error as StorageError {
            guard places.first?.options.whenSourceUnavailable == .skip, error.code != StorageError.locked else { throw error }
            return nil
        }
    }

    /// A record's origin; nil where there is none, and where its seal does not open.
    private func origin(of probe: StorageProbe, _ route: Route) async throws -> RecordOrigin? {
        guard let metadata = probe.metadata else { return nil }
        do { return try await coder.origin(of: metadata, route) } catch let error as StorageError where error.meansUndecodable {
            return nil
        }
    }

    // MARK: Before a record is read or written

    /// What was seen of an older place before a record is written.
    struct Seen: Sendable {
        let place: MirroredLocation
        /// Nil where it cannot be read: then it is not named, and a later sweep brings it up to date.
        let contents: MirrorContents?
    }

    /// What stands in the older place, before a key's place is written; nil where no window matters.
    /// - Parameter isMade: Whether the change is made of the key's value. Then it does not replace what an earlier release wrote since.
    /// - Throws: ``StorageError`` when it cannot be read and wins conflicts: its content would later undo the change. ``ChangedMeanwhile`` for a change that is made of a value
    ///   which an earlier release has replaced or removed.
    func look(for slot: UntypedSlot, over probe: StorageProbe, isMade: Bool = false) async throws -> Seen? {
        guard slot.key.releaseWindow != nil, var place = try place(of: slot, try await origin(of: probe, slot)) else { return nil }
        do {
            if case .absent = probe, try await isReleased(place, for: slot) { place.isOpen = false }
            let contents = try await read(place)
            guard isMade, let contents else { return Seen(place: place, contents: contents) }
            guard let record = try await record(probe, slot) else {
                if contents.record != nil { throw ChangedMeanwhile() }
                return Seen(place: place, contents: contents)
            }
            switch await standing(of: contents, to: record, at: place) {
            case .changed, .removed: throw ChangedMeanwhile()
            // It was not read, and is replaced: it goes into quarantine.
            case .conflict(let source?), .doubtful(let source):
                try await history.quarantine.keep(
                    source.record, of: place.route, beside: [slot.route], reason: "replaced by an update of \(slot.name)")
                return Seen(place: place, contents: contents)
            case .conflict(nil), .mirrored, .outdated, .damaged: return Seen(place: place, contents: contents)
            }
        } catch let error as StorageError {
            guard !slot.key.sourceWinsConflicts else { throw error }
            return Seen(place: place, contents: nil)
        }
    }

    /// The origin of what a key's place holds.
    func origin(of probe: StorageProbe, _ slot: UntypedSlot) async throws -> RecordOrigin? { try await origin(of: probe, slot.route) }

    /// Whether what a key's own place holds is its value, as far as the older place tells: an earlier release has not changed it since.
    func decides(_ probe: StorageProbe, _ slot: UntypedSlot) async throws -> Bool {
        guard slot.key.releaseWindow != nil, let record = try await record(probe, slot), let place = try place(of: slot, record.origin),
            let contents = try await read(place)
        else { return true }
        switch await standing(of: contents, to: record, at: place) {
        case .changed, .removed: return false
        case .mirrored: return true
        case .outdated, .doubtful, .conflict, .damaged: return try await isCurrent(record, at: place)
        }
    }

    /// Whether a key's own place still holds a record, after the older place was read. Another process may have brought over meanwhile what an earlier release had written: then
    /// the older place holds what the record is older than.
    func isCurrent(_ record: MirroredRecord, at place: MirroredLocation) async throws -> Bool {
        try await place.destination.probe().revision == record.revision
    }

    /// What a key's own place holds, as release windows see it; nil for anything but a value or a removal.
    func record(_ probe: StorageProbe, _ slot: UntypedSlot) async throws -> MirroredRecord? {
        switch probe {
        case .value(let record): MirroredRecord(record, try await origin(of: probe, slot))
        case .tombstone(let tombstone): MirroredRecord(tombstone, try await origin(of: probe, slot))
        default: nil
        }
    }
}
