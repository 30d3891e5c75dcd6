import BackendContract

/// Drops the tombstones of a collection that takes its records from older ones, where the older places of the removed records are proven to be empty.
///
/// The order: list the tombstones → find all their older places empty → make that durable → begin another removal epoch in each collection on the way → drop the tombstones,
/// in one commit with another epoch of the collection itself. A mover that read an older place before it was found empty has read an earlier epoch, so that its put
/// is refused. ``RemovalEpochs`` has the reason.
///
/// Where no put can depend on an epoch, and where an older program rewrites a list as a whole, tombstones stay until the older place is retired: the collection takes its
/// records from nowhere any more, and every retired key of its catalog is proven to be empty.
///
/// A tombstone that was written in a release window stays until that is over. A mirror may still come then, from a program that has waited since: it depends on the epoch of the
/// older collection, so that this one begins another, too.
struct TombstonePurger<Record: Codable & Sendable>: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let collection: StorageCollection<Record>

    /// Drops what may be dropped. A store that is locked, or out of reach, keeps its tombstones for a later sweep.
    func run() async throws {
        guard let between = try await collectionsBetween() else { return }
        let route = try slots.routes.slot(for: collection.placeholder).route
        let listing = try await Listing(slots).slots(in: collection.domain, collection.namespace, name: collection.name)
        var rest = listing.addresses[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let chunk = rest.prefix(slots.pageSize)
            rest = rest.dropFirst(slots.pageSize)
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

    /// The marks of the collections on the way to the oldest places.
    private struct Between: Sendable {
        /// Of those that take records from others in their turn.
        let marks: [Route]
        /// Of those that do not.
        let oldest: [Route]
    }

    private struct Removed: Sendable {
        let slot: Slot<Record>
        let tombstone: StorageTombstone
    }

    /// The removed records whose tombstones no release window needs, and whether one has needed them.
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

    /// The marks of the older collections that take records from others in their turn; nil where tombstones have to stay: an older program rewrites a list as a whole, and
    /// without atomic batches no put can depend on an epoch.
    private func collectionsBetween() async throws -> Between? {
        if collection.legacyLocations.isEmpty { return try await areSourcesRetired() ? Between(marks: [], oldest: []) : nil }
        var (marks, oldest): ([Route], [Route]) = ([], [])
        var open: [any TypedCollection] = [collection]
        while let next = open.popLast() {
            func visit<Next: TypedCollection>(_ next: Next) throws -> Bool {
                let locations = next.typed.legacyLocations
                let mark = try slots.routes.slot(for: next.typed.placeholder).route
                if locations.isEmpty {
                    oldest.append(mark)
                    return true
                }
                guard mark.capabilities.atomicBatch else { return false }
                marks.append(mark)
                for location in locations {
                    guard let older = location.key.collection else { return false }
                    open.append(older)
                }
                return true
            }
            guard try visit(next) else { return nil }
        }
        return Between(marks: Array(marks.dropFirst()), oldest: oldest)
    }

    /// Whether the program has retired keys in the collection's catalog, and nothing is left of any, durably.
    /// Reason: "Some tombstones stay until the source is retired" in Docs/Decisions/Collections.md.
    private func areSourcesRetired() async throws -> Bool {
        let own = try slots.routes.slot(for: collection.placeholder)
        guard let catalog = history.registry.catalog(of: own.id) else { return false }
        let retired = history.registry.retired(of: catalog)
        for entry in retired {
            guard await RetiredRows(slots, coder, history).row(entry) == nil, (try? await isDurable(entry.route)) == true else {
                return false
            }
        }
        return !retired.isEmpty
    }

    /// Whether what was seen in a store lasts.
    private func isDurable(_ route: Route) async throws -> Bool {
        let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await route.backend.synchronize() }
        return achieved >= route.capabilities.durability
    }

    private func drop(_ removed: [Removed], _ between: Between, _ own: Route) async throws {
        let (candidates, hadWindow) = try await withoutWindow(removed)
        // Without atomic batches, no mirror depends on an epoch.
        if hadWindow, !between.oldest.allSatisfy(\.capabilities.atomicBatch) { return }
        let gone = try await withoutOlder(candidates)
        if gone.isEmpty { return }
        let epochs = RemovalEpochs(slots, coder)
        let mark = try slots.routes.slot(for: collection.placeholder).route
        for other in between.marks + (hadWindow ? between.oldest : [])
        where try await !slots.committer.commit([epochs.next(of: other)]).isCommitted { return }
        try await slots.lanes.withLanes(gone.map(\.slot.id) + [mark.slot], keyName: collection.name) {
            let drops = gone.map { Committer.Change(.delete, $0.slot.route, if: .revision($0.tombstone.revision)) }
            if !mark.capabilities.atomicBatch {
                for drop in drops { _ = try await slots.committer.commit([drop]) }
                return
            }
            // Where another process changed one of them meanwhile, they are left to the next sweep.
            // Reason: "Tombstones of a collection are dropped" in Docs/Decisions/Collections.md.
            _ = try await slots.committer.commit(drops + [epochs.next(of: mark)])
        }
    }

    /// Those of the removed records that have nothing left in any older place, and durably so.
    private func withoutOlder(_ removed: [Removed]) async throws -> [Removed] {
        var places: [BackendIdentity: [(number: Int, key: AnyStorageKey, route: Route)]] = [:]
        for (number, record) in removed.enumerated() {
            for (key, route) in try LegacyLocations(slots).all(of: record.slot.untyped) {
                places[route.slot.store, default: []].append((number, key, route))
            }
        }
        var occupied: Set<Int> = []
        for older in places.values {
            for (place, probe) in zip(older, try await Route.probes(older.map(\.route))) {
                switch probe {
                // The mirror of a removal goes first.
                case .tombstone(let tombstone)
                where try await coder.origin(of: tombstone.metadata, place.route)?.mirrors != nil: occupied.insert(place.number)
                case .absent, .tombstone: continue
                // A record of another type in an older collection is no copy of the value.
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
