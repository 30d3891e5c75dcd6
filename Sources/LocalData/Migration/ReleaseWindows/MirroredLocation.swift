import BackendContract

/// The legacy location that a release window keeps up to date. "Release windows" in `Docs/Design.md` has the table of
/// states and the order of writes.
struct MirroredLocation: Sendable {
    /// The slot of the key.
    let destination: Route
    /// The slot of the legacy location, and the key with which an earlier release reads it.
    let source: UntypedSlot
    /// The slot of the mark, which names the record whose mirror was written last. An earlier release does not use this slot.
    let mark: Route
    /// The id of the migration whose source is the legacy location.
    let migration: String
    /// The declared window; nil if the program no longer declares one.
    let window: ReleaseWindow?
    let options: MigrationOptions
    /// The slot of the legacy collection's mark; nil if the legacy location does not belong to a record.
    let collection: Route?
    /// Whether this program keeps the legacy location up to date. If not, the window is over, and the next sweep empties the location.
    var isOpen: Bool

    var route: Route { source.route }
    /// The name of the legacy location in origins.
    var name: String { route.place.text }
    /// Whether the mark and the legacy location are in one store. If the store has atomic batches, one commit can change both.
    var marksInPlace: Bool { mark.slot.store == route.slot.store }
    var commitsTogether: Bool { marksInPlace && route.capabilities.atomicBatch }
    /// The slot of the mark whose removal epoch must be unchanged when a mirror is committed. Nil if tombstones are never dropped.
    var epoch: Route? { commitsTogether ? collection : nil }

    /// Returns whether the window concerns a record of the destination. It does if the window is open, if the record was written during the
    /// window, or if the window must still be ended. It does not if the record says that the window has ended.
    /// - Parameters:
    ///   - origin: The origin of the record; nil if there is none.
    ///   - toEnd: Whether to include a declared window that must still be ended.
    func matters(to origin: RecordOrigin?, toEnd: Bool) -> Bool {
        if origin?.isReleased(name) == true { return false }
        return isOpen || origin?.isInWindow(of: name) == true || toEnd && window != nil
    }
}

/// The content of the legacy location and of its mark.
struct MirrorContents: Sendable {
    let older: StorageProbe
    /// The origin of the record or tombstone in the legacy location; nil if there is none, or if it cannot be opened.
    let origin: RecordOrigin?
    let mark: RecordOrigin.Mirror?
    /// A check that fails a commit if the removal epoch of the legacy collection has changed since this content was read.
    var epoch: Committer.Change?

    /// Identifies the record that the mirror in the legacy location copies. Nil if there is no mirror: for example, because an earlier
    /// release wrote the content. If an earlier release removes a mirror, its tombstone may keep the origin of the mirror. So a tombstone
    /// with the origin of a value is not a mirror.
    /// Reason: "A mirror names the record that it copies" in Docs/Decisions/ReleaseWindows.md.
    var mirror: RecordOrigin.Mirror? {
        switch (origin?.mirrors, older) {
        case (let mirror?, .value) where mirror.kind == .value: mirror
        case (let mirror?, .tombstone) where mirror.kind == .removed: mirror
        default: nil
        }
    }

    /// The mirror that an earlier release removed, if the tombstone kept the mirror's origin; otherwise nil.
    var removedMirror: RecordOrigin.Mirror? {
        guard case .tombstone = older, let mirror = origin?.mirrors, mirror.kind == .value else { return nil }
        return mirror
    }

    var record: StorageRecord? { older.record }

    var isDamaged: Bool { if case .corrupt = older { true } else { false } }

    /// Whether the legacy location is empty and has no mark: neither an earlier release nor a window has left anything.
    var isEmpty: Bool { mark == nil && older.revision == nil }
}

/// A settled value or tombstone of the destination, with the properties that release windows use.
struct MirroredRecord: Sendable {
    let revision: StorageRevision
    let origin: RecordOrigin?
    let metadata: StorageMetadata
    /// The content of the value; nil for a tombstone.
    let payload: StoragePayload?
    let isForeign: Bool

    var isRemoved: Bool { payload == nil }

    init(_ record: StorageRecord, _ origin: RecordOrigin?) {
        (revision, self.origin, metadata, payload, isForeign) = (record.revision, origin, record.metadata, record.payload, record.isForeign)
    }

    init(_ tombstone: StorageTombstone, _ origin: RecordOrigin?) {
        (revision, self.origin, metadata, payload, isForeign) = (tombstone.revision, origin, tombstone.metadata, nil, false)
    }

    /// Returns whether a mirror is a copy of this record, or whether a mark names this record.
    /// - Parameter mirror: The identification that the mirror or the mark contains.
    func isNamed(by mirror: RecordOrigin.Mirror) -> Bool {
        (mirror.kind == .removed) == isRemoved && RecordOrigin.isMirror(mirror, of: revision, origin)
    }
}

/// The error of a change that is based on a value which has changed since it was read.
struct ChangedMeanwhile: Error {}

/// Finds and reads the legacy locations that release windows keep up to date.
struct MirroredLocations: EnginePart, Sendable {
    let engine: Engine

    // MARK: Finding

    /// Returns the legacy location of a key's release window, if the window concerns a record: it is open, or the record was written during
    /// it. Otherwise returns nil.
    /// - Parameters:
    ///   - origin: The origin of the content of the destination; nil if the destination is empty or its content has no origin.
    ///   - toEnd: Whether to include a window that must still be ended. Such a window is over for this program, but the record does not say
    ///     so yet. Or the program no longer declares the window, and has not ended it.
    /// - Throws: ``StorageError`` if an open window has a legacy location that cannot be kept up to date.
    func place(of slot: UntypedSlot, _ origin: RecordOrigin?, toEnd: Bool = false) throws -> MirroredLocation? {
        guard slot.key.releaseWindow != nil || toEnd else { return nil }
        for migration in slot.key.migrations where migration.window != nil || toEnd {
            guard let kept = try place(of: slot, migration), kept.matters(to: origin, toEnd: toEnd) else { continue }
            if kept.isOpen { try requireUsable(kept, slot) }
            return kept
        }
        return nil
    }

    /// Returns the legacy location of the window that a key declares, whether the window is open or over. It is called before a value is
    /// moved from this location, or removed. If the window is over, a sweep empties the location once the record of the destination says
    /// that the window has ended.
    /// - Throws: ``StorageError`` if an open window has a legacy location that cannot be kept up to date.
    func declared(by slot: UntypedSlot) throws -> MirroredLocation? {
        if let open = try place(of: slot, nil) { return open }
        guard slot.key.releaseWindow != nil else { return nil }
        return try slot.key.migrations.first { $0.window != nil }.flatMap { try place(of: slot, $0) }
    }

    /// Returns the legacy locations whose windows have ended according to the origin of a record.
    func released(of slot: UntypedSlot, _ origin: RecordOrigin?) throws -> [MirroredLocation] {
        try slot.key.migrations.compactMap { try place(of: slot, $0) }.filter { origin?.isReleased($0.name) == true }
    }

    /// Returns the legacy location of a record in an older collection, also if no window concerns the record.
    /// - Parameter older: The slot of the legacy location.
    /// - Returns: The location; nil if no migration of the key has this slot as its source.
    func place(of slot: UntypedSlot, at older: PhysicalSlot) throws -> MirroredLocation? {
        for migration in slot.key.migrations {
            if let place = try place(of: slot, migration), place.route.slot == older { return place }
        }
        return nil
    }

    /// Returns the legacy location of a migration; nil if the migration cannot have a window.
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

    /// Returns the slot of the mark. It is in the store of the legacy location or, if that store cannot contain marks, in the
    /// destination's.
    private func mark(of source: Route, beside destination: Route) -> Route {
        func beside(_ route: Route) -> Route { route.beside(in: Self.namespace(of: route.address.namespace)) }
        let mark = beside(source)
        do throws(BackendError) {
            try source.backend.validate(mark.address)
            return mark
        } catch { return beside(destination) }
    }

    /// Returns the namespace of the marks for legacy locations in a namespace.
    static func namespace(of namespace: StorageNamespace) -> StorageNamespace { StorageNamespace("window:\(namespace.name)") }

    /// Checks the declaration of a window. Reads nothing.
    /// - Throws: ``StorageError`` if the legacy location cannot be kept up to date.
    func requireUsable(_ place: MirroredLocation, _ slot: UntypedSlot) throws {
        func refuse(_ code: StorageError.Code, _ message: String) -> StorageError {
            StorageError(code, key: slot.name, "\(message) Nothing was changed.")
        }
        // Reason: "The older shape stays in a legacy location" in Docs/Decisions/ReleaseWindows.md.
        if place.route.slot == slot.id {
            throw refuse(
                StorageError.unsupported,
                "\(place.source.name) is the slot of the key itself, but a release window needs a separate legacy location. Give the new shape a key of another name, and move it from this one."
            )
        }
        if place.source.key.releaseWindow != nil {
            throw refuse(
                StorageError.unsupported,
                "\(place.source.name) has a release window too. End that window first, or move directly from the oldest location.")
        }
        if slot.key.migrations.filter({ $0.window != nil }).count > 1 {
            throw refuse(StorageError.unsupported, "\(slot.name) has several release windows. Declare only one of them.")
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
                "\(place.route.domain) stores no metadata, so a write of an earlier release can be identified only by its content. Say MigrationOptions(comparesByContent: true) if that is enough, or move without a window."
            )
        }
    }

    /// Returns whether the mark of a record's collection says that the window of all records has ended. A new record needs this, because it
    /// has no origin yet that could say so.
    func isReleased(_ place: MirroredLocation, for slot: UntypedSlot) async throws -> Bool {
        guard let own = slot.key.membership?.gathered, let older = place.collection else { return false }
        return ReleasedCollections(in: try await RemovalEpochs(engine: engine).mark(of: own).probe().metadata).contains(older)
    }

    /// Returns the legacy collection that an open release window keeps up to date, for a report; nil if there is none.
    func copy<Record>(of collection: StorageCollection<Record>) async -> KeptCopy? {
        guard let location = collection.legacyLocations.first(where: { $0.source.window != nil }), let window = location.source.window,
            window.isOpen(for: history.applicationVersion), let own = try? slots.routes.slot(for: collection.placeholder).route,
            let older = try? slots.routes.route(for: location.key), let mark = try? await own.read(),
            !ReleasedCollections(in: mark.metadata).contains(older)
        else { return nil }
        return KeptCopy(
            place: older.displayName, protection: older.protection, isWeaker: older.protection < own.protection, until: "\(window)")
    }

    /// Returns the legacy copy that an open release window keeps up to date for a key, for a report; nil if there is none.
    func copy(of slot: UntypedSlot) async -> KeptCopy? {
        guard let window = slot.key.releaseWindow, let probe = try? await slot.route.read(),
            let place = try? place(of: slot, try? await origin(of: probe, slot)), place.isOpen
        else { return nil }
        return KeptCopy(
            place: place.route.displayName, protection: place.route.protection, isWeaker: place.route.protection < slot.route.protection,
            until: "\(window)")
    }

    // MARK: Reading

    /// Reads the mark and the legacy location.
    /// - Returns: The content; nil if the legacy location is unavailable and may be skipped, or if it has a record of another type.
    /// - Throws: ``StorageError`` if the content cannot be determined: for example, if the store is locked.
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

    /// Reads the mark, and then the legacy location. If both are in one store, one call reads them, and the mark of the removal epoch too.
    private func probes(_ place: MirroredLocation) async throws -> (mark: StorageProbe, older: StorageProbe, epoch: StorageProbe?) {
        guard place.marksInPlace else { return (try await place.mark.probe(), try await place.route.read(), nil) }
        let routes = [place.mark, place.route] + (place.epoch.map { [$0] } ?? [])
        let probes = try await Route.read(routes, .validated)
        return (probes[0], probes[1], probes.count > 2 ? probes[2] : nil)
    }

    /// Reads several legacy locations of one collection: first all marks and then all locations, each with one call for each store. The
    /// result has no removal epoch, so no write may be based on it.
    /// - Returns: The contents; nil if a location is unavailable and may be skipped.
    /// - Throws: ``StorageError`` if the contents cannot be determined: for example, if a store is locked.
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

    /// Returns the origin of a record or tombstone; nil if it has none, or if the seal of the origin cannot be opened.
    private func origin(of probe: StorageProbe, _ route: Route) async throws -> RecordOrigin? {
        guard let metadata = probe.metadata else { return nil }
        do { return try await coder.origin(of: metadata, route) } catch let error as StorageError where error.meansUndecodable {
            return nil
        }
    }

    // MARK: Before a record is read or written

    /// A legacy location and its content before a record is written.
    struct Seen: Sendable {
        let place: MirroredLocation
        /// Nil if the content could not be read. The new record then does not name it. If the mirror cannot be written after the record, a
        /// later sweep writes it.
        let contents: MirrorContents?
    }

    /// Reads the legacy location before a change of the destination.
    /// - Parameters:
    ///   - probe: The content of the destination.
    ///   - isMade: Whether the change is based on the value that was read. Such a change must not replace what an earlier release has
    ///     written since.
    /// - Returns: The legacy location and its content; nil if no window concerns the record.
    /// - Throws: ``StorageError`` if the legacy location cannot be read and the key has the conflict policy `.sourceWins`: its content
    ///   would later undo the change. ``ChangedMeanwhile`` if the change is based on a value that an earlier release has replaced or
    ///   removed.
    func look(for slot: UntypedSlot, over probe: StorageProbe, isMade: Bool = false) async throws -> Seen? {
        guard slot.key.releaseWindow != nil, var place = try place(of: slot, try await origin(of: probe, slot)) else { return nil }
        do {
            if case .absent = probe, try await isReleased(place, for: slot) { place.isOpen = false }
            let contents = try await read(place)
            guard isMade, let contents else { return Seen(place: place, contents: contents) }
            guard let record = try await record(probe, slot) else {
                if let older = contents.record, !coder.isExpired(older) { throw ChangedMeanwhile() }
                return Seen(place: place, contents: contents)
            }
            switch await standing(of: contents, to: record, at: place) {
            case .changed, .removed: throw ChangedMeanwhile()
            // The mirror of the change will replace a legacy value that the caller has not read, so that value is quarantined.
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

    /// Returns the origin of the content of the destination.
    func origin(of probe: StorageProbe, _ slot: UntypedSlot) async throws -> RecordOrigin? { try await origin(of: probe, slot.route) }

    /// Returns whether the content of the destination is the value of the key. It is not if an earlier release has since changed or removed
    /// the value in the legacy location. If the legacy location has no current mirror, the destination must be unchanged since it was read.
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

    /// Returns whether the destination still has a record, after the legacy location was read. Between these reads, another process may
    /// have stored a write of an earlier release in the destination. The content of the legacy location is then newer than the record.
    func isCurrent(_ record: MirroredRecord, at place: MirroredLocation) async throws -> Bool {
        try await place.destination.probe().revision == record.revision
    }

    /// Returns the value or tombstone of the destination, with the properties that release windows use; nil for any other content.
    func record(_ probe: StorageProbe, _ slot: UntypedSlot) async throws -> MirroredRecord? {
        switch probe {
        case .value(let record): MirroredRecord(record, try await origin(of: probe, slot))
        case .tombstone(let tombstone): MirroredRecord(tombstone, try await origin(of: probe, slot))
        default: nil
        }
    }
}
