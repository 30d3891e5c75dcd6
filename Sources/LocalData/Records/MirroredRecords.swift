import BackendContract
import BackendRuntime

/// Settles the records of a collection with a release window, which keeps the older collection up to date. Also settles what remains of a
/// window that the program has dropped. Finds the records that need work, and settles each of them like a single key. "Release windows" in
/// `Docs/Design.md` has the table of states.
struct MirroredRecords<Source: Codable & Sendable, Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let way: CollectionSource<Source, Record>
    let destination: StorageCollection<Record>

    /// The maximum number of records that are settled at once. They share commits and flushes.
    /// Reason: "Each record of a collection has a window" in Docs/Decisions/ReleaseWindows.md.
    private static var mostAtOnce: Int { 64 }

    /// The content of the destination and of the legacy location of one record, when they were read.
    private struct Look: Sendable {
        let slot: Slot<Record>
        let probe: StorageProbe
        /// The record or tombstone of the destination; nil if it has neither.
        let record: MirroredRecord?
        let place: MirroredLocation
        let contents: MirrorContents
        /// The relation of the legacy location to `record`; nil if there is no `record`, or the window does not matter for it.
        let standing: MirrorStanding?

        var isAbsent: Bool { if case .absent = probe { true } else { false } }
        /// Whether the legacy location has a record of another type. That record is neither read nor changed.
        var isTaken: Bool { contents.record.map { place.source.key.refuses($0.metadata) } ?? false }

        /// The record whose content may be the cause of an error; nil if it has no revision.
        var damaged: DamagedRecord? {
            let isOlder: Bool
            switch standing {
            case nil: isOlder = record == nil
            case .mirrored, .outdated, .removed: isOlder = false
            case .changed, .conflict, .doubtful, .damaged: isOlder = true
            }
            let (route, probe) = isOlder ? (place.route, contents.older) : (slot.route, probe)
            return probe.revision.map { DamagedRecord(route.domain, .named(route.address, $0)) }
        }
    }

    /// Applies the writes and removals of an earlier release to the collection. A sweep also updates the older collection, or ends the
    /// window.
    func settle(_ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        let names = try await names(run, &work)
        // A sweep can also end the window of an empty collection.
        if names.isEmpty, run.reason == .read || way.kept == nil { return work }
        var run = run
        let own = try slots.routes.slot(for: destination.placeholder).route
        let isRequested = await history.ledger.isReleaseRequested(own)
        if run.reason != .read, way.kept != nil {
            let older = try slots.routes.slot(for: way.source.placeholder).route
            let isReleased = ReleasedCollections(in: try await own.probe().metadata).contains(older)
            if isRequested || isReleased { run.endsWindow = true }
            run.windowSince = try await since(names)
            if !isReleased, await isOver(run) { try await release(older, own) }
        }
        try await eachPage(of: names) { looks in
            for look in looks where look.isTaken && look.record != nil && run.reason != .read { try work.fail(look.slot.name, taken(look)) }
            let due = looks.filter { !$0.isTaken && isDue($0, run) }
            let limit = due.first.map {
                min($0.slot.route.capabilities.usefulConcurrency, $0.place.route.capabilities.usefulConcurrency, Self.mostAtOnce)
            }
            let moved = work.moved
            let visits = await due.concurrently(atMost: limit ?? 1) { [self, run] look -> Result<Visit, any Error> in
                do { return .success(try await Settler(engine: engine).visit(look.slot, run)) } catch {
                    return .failure(error)
                }
            }
            for (look, visit) in zip(due, visits) {
                do { work.add(try visit.get()) } catch { try work.fail(look.slot.name, error, look.damaged) }
            }
            run.recordsDone(work.moved - moved)
        }
        if isRequested, run.endsWindow, work.failures.isEmpty, work.residue.isEmpty { history.ledger.isReleased(own) }
        return work
    }

    /// Returns the number of records that are only in the older collection. Damaged slots without a readable name count too.
    func pending() async throws -> Int {
        var (count, work) = (0, RecordWork())
        try await eachPage(of: try await names(nil, &work)) { looks in
            count += looks.count { $0.isAbsent && $0.contents.record != nil && !$0.isTaken }
        }
        return count + work.failures.count
    }

    // MARK: Which records

    /// Returns the sorted ids of all records that may need work. If the program declares no window, these are only the ids of the marks
    /// that a dropped window has left, and none for a read.
    private func names(_ run: MigrationRun?, _ work: inout RecordWork) async throws -> [String] {
        let listing = Listing(engine: engine)
        var names: Set<String> = []
        if run?.reason != .read {
            let marks = MirroredLocation.namespace(of: way.source.namespace)
            names.formUnion(try await listing.slots(in: way.source.domain, marks, name: way.source.name).addresses.map(\.name))
        }
        if way.kept == nil { return names.sorted() }
        let older = try await listing.slots(in: way.source.domain, way.source.namespace, name: way.source.name)
        names.formUnion(older.addresses.map(\.name))
        for slot in older.damaged {
            let reason = StorageError.damaged(slot.corruption, of: way.source.name, in: way.source.domain)
            try work.fail(way.source.name, reason, DamagedRecord(way.source.domain, .nameless(slot.handle)))
        }
        let own = try await listing.slots(in: destination.domain, destination.namespace, name: destination.name)
        return names.union(own.addresses.map(\.name)).sorted()
    }

    /// Returns the time at which the mirroring of the first record began; nil if no time ends the window, or if there are no marks.
    private func since(_ names: [String]) async throws -> Double? {
        guard way.window?.end(since: 0) != nil else { return nil }
        var first: Double?
        try await eachPage(of: names) { looks in first = ([first] + looks.map(\.contents.mark?.since)).compactMap(\.self).min() }
        return first
    }

    /// Returns whether this sweep ends the window of all records.
    private func isOver(_ run: MigrationRun) async -> Bool {
        if run.endsWindow || way.window?.isOpen(for: history.applicationVersion) == false { return true }
        guard let end = end(run), end <= coder.now else { return false }
        return await history.expiries.mayPurge(expiredAt: end)
    }

    /// Returns the time at which the window ends; nil if no time ends it.
    private func end(_ run: MigrationRun) -> Double? { run.windowSince.flatMap { way.window?.end(since: $0) } }

    /// Writes into the collection's mark, durably, that the window is over. A program that still keeps the window then begins none for a
    /// new record.
    private func release(_ older: Route, _ own: Route) async throws {
        try await slots.retrying(destination.name) {
            guard let change = try await ReleasedCollections.noting(older, in: own, coder) else { return () }
            let receipt = try await slots.withLane(own) { try await slots.committer.commit([change]) }
            return receipt.isCommitted ? () : nil
        }
    }

    private func eachPage(of names: [String], _ body: ([Look]) async throws -> Void) async throws {
        for page in names.parts(of: slots.pageSize) {
            try Task.checkCancellation()
            try await body(try await looks(at: page))
        }
    }

    /// Reads records: first in the destination, and then in the legacy location.
    private func looks(at names: ArraySlice<String>) async throws -> [Look] {
        let kept = MirroredLocations(engine: engine)
        let own = try names.map { try slots.routes.slot(for: destination.key($0)) }
        let probes = try await Route.probes(own.map(\.route))
        let places = try zip(names, own).compactMap { name, slot in
            try windowPlaces.place(of: slot.untyped, at: try slots.routes.slot(for: way.source.key(name)).id)
        }
        guard places.count == own.count, let contents = try await kept.read(places) else { return [] }
        var looks: [Look] = []
        for ((slot, probe), (place, contents)) in zip(zip(own, probes), zip(places, contents)) {
            let record = try await kept.record(probe, slot.untyped)
            var standing: MirrorStanding?
            if let record, place.matters(to: record.origin, toEnd: true) {
                standing = await kept.standing(of: contents, to: record, at: place)
            }
            looks.append(Look(slot: slot, probe: probe, record: record, place: place, contents: contents, standing: standing))
        }
        return looks
    }

    private func taken(_ look: Look) -> StorageError {
        StorageError(
            StorageError.incompatibleSchema, key: look.slot.name,
            "\(way.source.name) in \(look.place.route.domain) holds a record of another type under this id: an earlier release does not find the record. Nothing was changed."
        )
    }

    /// Returns whether a record may need work.
    private func isDue(_ look: Look, _ run: MigrationRun) -> Bool {
        let (isRead, contents) = (run.reason == .read, look.contents)
        let holdsOlder = contents.record != nil || contents.isDamaged
        let isLeft = holdsOlder || contents.mirror != nil || contents.mark != nil
        // A read moves a record only if the destination is empty.
        guard let record = look.record else { return isRead ? look.isAbsent && holdsOlder : isLeft }
        guard let standing = look.standing else { return !isRead && isLeft }
        if isRead {
            switch standing {
            case .changed, .removed: return look.place.matters(to: record.origin, toEnd: false)
            case .mirrored, .outdated, .doubtful, .conflict, .damaged: return false
            }
        }
        let isInWindow = record.origin?.isInWindow(of: look.place.name) == true
        if !look.place.isOpen { return isInWindow || !contents.isEmpty }
        guard case .mirrored(isMarked: true) = standing, isInWindow else { return true }
        return run.endsWindow || end(run).map { $0 <= coder.now } ?? false
    }
}
