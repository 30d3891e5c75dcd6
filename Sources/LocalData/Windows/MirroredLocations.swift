import BackendContract

/// Reads the legacy locations that release windows keep up to date.
struct MirroredLocations: EnginePart, Sendable {
    let engine: Engine

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
            let place = try? windowPlaces.place(of: slot, try? await origin(of: probe, slot)), place.isOpen
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

    /// Reads the legacy location before a change of the destination.
    /// - Parameters:
    ///   - probe: The content of the destination.
    ///   - isMade: Whether the change is based on the value that was read. Such a change must not replace what an earlier release has
    ///     written since.
    /// - Returns: The legacy location and its content; nil if no window concerns the record.
    /// - Throws: ``StorageError`` if the legacy location cannot be read and the key has the conflict policy `.sourceWins`: its content
    ///   would later undo the change. ``ChangedMeanwhile`` if the change is based on a value that an earlier release has replaced or
    ///   removed.
    func look(for slot: UntypedSlot, over probe: StorageProbe, isMade: Bool = false) async throws -> MirroredLocation.Seen? {
        guard slot.key.releaseWindow != nil, var place = try windowPlaces.place(of: slot, try await origin(of: probe, slot)) else {
            return nil
        }
        do {
            if case .absent = probe, try await isReleased(place, for: slot) { place.isOpen = false }
            let contents = try await read(place)
            guard isMade, let contents else { return MirroredLocation.Seen(place: place, contents: contents) }
            guard let record = try await record(probe, slot) else {
                if let older = contents.record, !coder.isExpired(older) { throw ChangedMeanwhile() }
                return MirroredLocation.Seen(place: place, contents: contents)
            }
            switch await standing(of: contents, to: record, at: place) {
            case .changed, .removed: throw ChangedMeanwhile()
            // The mirror of the change will replace a legacy value that the caller has not read, so that value is quarantined.
            case .conflict(let source?), .doubtful(let source):
                try await history.quarantine.keep(
                    source.record, of: place.route, beside: [slot.route], reason: "replaced by an update of \(slot.name)")
                return MirroredLocation.Seen(place: place, contents: contents)
            case .conflict(nil), .mirrored, .outdated, .damaged: return MirroredLocation.Seen(place: place, contents: contents)
            }
        } catch let error as StorageError {
            guard !slot.key.sourceWinsConflicts else { throw error }
            return MirroredLocation.Seen(place: place, contents: nil)
        }
    }

    /// Returns the origin of the content of the destination.
    func origin(of probe: StorageProbe, _ slot: UntypedSlot) async throws -> RecordOrigin? { try await origin(of: probe, slot.route) }

    /// Returns whether the content of the destination is the value of the key. It is not if an earlier release has since changed or removed
    /// the value in the legacy location. If the legacy location has no current mirror, the destination must be unchanged since it was read.
    func decides(_ probe: StorageProbe, _ slot: UntypedSlot) async throws -> Bool {
        guard slot.key.releaseWindow != nil, let record = try await record(probe, slot),
            let place = try windowPlaces.place(of: slot, record.origin),
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

extension EnginePart {
    var mirroredLocations: MirroredLocations { MirroredLocations(engine: engine) }
    var mirrorWriter: MirrorWriter { MirrorWriter(engine: engine) }
}
