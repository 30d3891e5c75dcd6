import BackendContract

/// Drops tombstones of a collection that takes its records from older collections. A tombstone is dropped if all legacy locations of the
/// removed record are proven to be empty.
///
/// The order of the steps:
///
/// 1. List the tombstones.
/// 2. Read all legacy locations of the removed records. Continue with the records for which all of them are empty.
/// 3. Make the empty state durable.
/// 4. Begin a new removal epoch in each older collection that takes records from others.
/// 5. Repeat the steps 2 and 3: before its new epoch, another process may have written to an older collection again.
/// 6. Drop the tombstones, in one commit with a new epoch of the collection itself.
///
/// A move that read a legacy location before it was found empty has read an earlier epoch, so its put is refused. ``RemovalEpochs`` has the
/// reason.
///
/// In two cases, tombstones remain until the legacy location is retired: if the epoch cannot be a precondition of a put, and if an older
/// program rewrites a list as a whole. The legacy location is retired if the collection is declared without one, and every retired key of
/// its catalog is proven to be empty.
///
/// A tombstone that was written in a release window remains until the window is over. Even then, a program that has paused since the window
/// may write a mirror. This write has the epoch of the older collection as precondition, so the older collection begins a new epoch too.
struct TombstonePurger<Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let collection: StorageCollection<Record>

    /// Drops the tombstones that are not needed any more. If a store is locked or unreachable, the remaining tombstones wait for a later
    /// sweep.
    func run() async throws {
        guard let between = try await collectionsBetween() else { return }
        let route = try slots.routes.slot(for: collection.placeholder).route
        let listing = try await Listing(engine: engine).slots(in: collection.domain, collection.namespace, name: collection.name)
        for chunk in listing.addresses.parts(of: slots.pageSize) {
            try Task.checkCancellation()
            let routes = try chunk.map { try slots.routes.slot(for: collection.key($0.name)) }
            let removed = try zip(routes, await Route.probes(routes.map(\.route))).compactMap { slot, probe -> Removed? in
                if case .tombstone(let tombstone) = probe { Removed(slot: slot, tombstone: tombstone) } else { nil }
            }
            if removed.isEmpty { continue }
            do { try await slots.unbroken { [self] in try await drop(removed, between, route) } } catch let error as StorageError
                where error.isTransient
            { return }
        }
    }

    /// The marks of the older collections from which the records come, directly or through others.
    private struct Between: Sendable {
        /// The marks of the older collections that take records from other collections.
        let marks: [Route]
        /// The marks of the older collections that take records from no other collection.
        let oldest: [Route]
    }

    private struct Removed: Sendable {
        let slot: Slot<Record>
        let tombstone: StorageTombstone
    }

    /// Returns the removed records whose tombstones no release window needs, and whether a release window has needed one of them before.
    private func withoutWindow(_ removed: [Removed]) async throws -> (records: [Removed], hadWindow: Bool) {
        let isOpen = collection.template.releaseWindow?.isOpen(for: history.applicationVersion) == true
        var (records, hadWindow): ([Removed], Bool) = ([], false)
        for record in removed {
            let origin = try await coder.origin(of: record.tombstone.metadata, record.slot.route)
            if origin?.isInWindow == true || isOpen && origin?.hasWindows != true { continue }
            records.append(record)
            hadWindow = hadWindow || origin?.hasWindows == true
        }
        return (records, hadWindow)
    }

    /// Returns the marks of the older collections. A collection without legacy locations has none.
    /// - Returns: Nil if the tombstones must remain. This is so if a legacy location is a list, because an older program rewrites it as a
    ///   whole. It is also so if one of the collections that take records has no atomic batches, because no put can then depend on an
    ///   epoch. In a collection without legacy locations, the tombstones remain until its sources are retired.
    private func collectionsBetween() async throws -> Between? {
        if collection.legacyLocations.isEmpty { return try await areSourcesRetired() ? Between(marks: [], oldest: []) : nil }
        var (marks, oldest): ([Route], [Route]) = ([], [])
        var open: [any TypedCollection] = [collection]
        while let next = open.popLast() {
            let mark = try RemovalEpochs(engine: engine).mark(of: next)
            if next.legacyLocations.isEmpty {
                oldest.append(mark)
                continue
            }
            guard mark.capabilities.atomicBatch else { return nil }
            marks.append(mark)
            for location in next.legacyLocations {
                guard let older = location.key.collection else { return nil }
                open.append(older)
            }
        }
        return Between(marks: Array(marks.dropFirst()), oldest: oldest)
    }

    /// Returns whether the collection's catalog has retired keys, and the slots of all of them are durably empty.
    /// Reason: "Some tombstones stay until the source is retired" in Docs/Decisions/Collections.md.
    private func areSourcesRetired() async throws -> Bool {
        let own = try slots.routes.slot(for: collection.placeholder)
        guard let catalog = history.registry.catalog(of: own.id) else { return false }
        let retired = history.registry.retired(of: catalog)
        for entry in retired {
            guard await RetiredRows(engine: engine).row(entry) == nil, (try? await isDurable(entry.route)) == true else {
                return false
            }
        }
        return !retired.isEmpty
    }

    /// Flushes the store of a route. Returns whether the content that was read there is now durable.
    private func isDurable(_ route: Route) async throws -> Bool {
        let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await route.backend.synchronize() }
        return achieved >= route.capabilities.durability
    }

    private func drop(_ removed: [Removed], _ between: Between, _ own: Route) async throws {
        let (candidates, hadWindow) = try await withoutWindow(removed)
        // Without atomic batches, the write of a mirror cannot depend on an epoch.
        if hadWindow, !between.oldest.allSatisfy(\.capabilities.atomicBatch) { return }
        let empty = try await withoutOlder(candidates)
        if empty.isEmpty { return }
        let epochs = RemovalEpochs(engine: engine)
        let mark = try slots.routes.slot(for: collection.placeholder).route
        let others = between.marks + (hadWindow ? between.oldest : [])
        for other in others where try await !slots.committer.commit([epochs.next(of: other)]).isCommitted { return }
        let gone = others.isEmpty ? empty : try await withoutOlder(empty)
        if gone.isEmpty { return }
        try await slots.lanes.withLanes(gone.map(\.slot.id) + [mark.slot], keyName: collection.name) {
            let drops = gone.map { Committer.Change(.delete, $0.slot.route, if: .revision($0.tombstone.revision)) }
            if !mark.capabilities.atomicBatch {
                for drop in drops { _ = try await slots.committer.commit([drop]) }
                return
            }
            // If another process has changed one of the slots since it was read, all tombstones remain for the next sweep.
            // Reason: "Tombstones of a collection are dropped" in Docs/Decisions/Collections.md.
            _ = try await slots.committer.commit(drops + [epochs.next(of: mark)])
        }
    }

    /// Returns the removed records whose legacy locations are all empty, and durably so.
    private func withoutOlder(_ removed: [Removed]) async throws -> [Removed] {
        var places: [BackendIdentity: [(number: Int, key: AnyStorageKey, route: Route)]] = [:]
        for (number, record) in removed.enumerated() {
            for (key, route) in try LegacyLocations(engine: engine).all(of: record.slot.untyped) {
                places[route.slot.store, default: []].append((number, key, route))
            }
        }
        var occupied: Set<Int> = []
        for older in places.values {
            for (place, probe) in zip(older, try await Route.probes(older.map(\.route))) {
                switch probe {
                // The mirror of a removal must be deleted before the tombstone is dropped.
                case .tombstone(let tombstone)
                where try await coder.origin(of: tombstone.metadata, place.route)?.mirrors != nil: occupied.insert(place.number)
                case .absent, .tombstone: continue
                // A record of another type in an older collection is no copy of the removed record.
                case .value(let record) where place.key.base.refuses(record.metadata): continue
                default: occupied.insert(place.number)
                }
            }
        }
        for older in places.values {
            if let route = older.first?.route, try await !isDurable(route) { return [] }
        }
        return removed.enumerated().filter { !occupied.contains($0.offset) }.map(\.element)
    }
}
