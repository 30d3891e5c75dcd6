import BackendContract

/// Finds the legacy locations that release windows keep up to date. Reads no slot.
struct WindowPlaces: EnginePart, Sendable {
    let engine: Engine

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
        func beside(_ route: Route) -> Route { route.beside(in: MirroredLocation.namespace(of: route.address.namespace)) }
        let mark = beside(source)
        do throws(BackendError) {
            try source.backend.validate(mark.address)
            return mark
        } catch { return beside(destination) }
    }

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
}
