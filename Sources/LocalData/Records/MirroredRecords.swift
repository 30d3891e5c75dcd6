import BackendContract
import BackendRuntime

/// The records of a collection whose older collection a release window keeps up to date, or kept until the program dropped the window: finds those that are to be settled one by one,
/// as single keys are. "Release windows" in `Docs/Design.md` has the table.
struct MirroredRecords<Source: Codable & Sendable, Record: Codable & Sendable>: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode
    let way: CollectionSource<Source, Record>
    let destination: StorageCollection<Record>

    init(_ gatherer: RecordGatherer, _ way: CollectionSource<Source, Record>, _ destination: StorageCollection<Record>) {
        (slots, coder, history, program) = (gatherer.slots, gatherer.coder, gatherer.history, gatherer.program)
        (self.way, self.destination) = (way, destination)
    }

    /// How many records are settled at once: they share commits and flushes.
    /// Reason: "Each record of a collection has a window" in Docs/Decisions/ReleaseWindows.md.
    private static var mostAtOnce: Int { 64 }

    /// A record in both of its places.
    private struct Look: Sendable {
        let slot: Slot<Record>
        let probe: StorageProbe
        /// What the collection's own place holds, if that is a value or a removal.
        let record: MirroredRecord?
        let place: MirroredLocation
        let contents: MirrorContents
        /// Nil where the window does not matter for this record, or there is none.
        let standing: MirrorStanding?

        var isAbsent: Bool { if case .absent = probe { true } else { false } }
        /// Whether another type's record has the older place. It is neither read nor changed.
        var isTaken: Bool { contents.record.map { place.source.key.refuses($0.metadata) } ?? false }

        /// The record whose content may be the reason of an error.
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

    /// Brings over what an earlier release wrote or removed, and in a sweep brings the older collection up to date, or ends the window.
    func settle(_ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        let names = try await names(run, &work)
        if names.isEmpty { return work }
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
                do { return .success(try await Settler(slots, coder, history, program).visit(look.slot, run)) } catch {
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

    /// How many records are in the older collection only.
    func pending() async throws -> Int {
        var (count, work) = (0, RecordWork())
        try await eachPage(of: try await names(nil, &work)) { looks in
            count += looks.count { $0.isAbsent && $0.contents.record != nil && !$0.isTaken }
        }
        return count + work.failures.count
    }

    // MARK: Which records

    /// The ids of all records that may have to be settled, sorted. Without a window, a sweep looks for what a window has left that the program dropped.
    private func names(_ run: MigrationRun?, _ work: inout RecordWork) async throws -> [String] {
        let listing = Listing(slots)
        var names: Set<String> = []
        if run?.reason != .read {
            let marks = MirroredLocations.namespace(of: way.source.namespace)
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

    /// When the first of the records was kept up to date, for a window that ends by the clock.
    private func since(_ names: [String]) async throws -> Double? {
        guard way.window?.end(since: 0) != nil else { return nil }
        var first: Double?
        try await eachPage(of: names) { looks in first = ([first] + looks.map(\.contents.mark?.since)).compactMap(\.self).min() }
        return first
    }

    /// Whether this sweep ends the window of all records.
    private func isOver(_ run: MigrationRun) async -> Bool {
        if run.endsWindow || way.window?.isOpen(for: history.applicationVersion) == false { return true }
        guard let end = end(run), end <= coder.now else { return false }
        return await history.expiries.mayPurge(expiredAt: end)
    }

    /// When the window ends by the clock.
    private func end(_ run: MigrationRun) -> Double? { run.windowSince.flatMap { way.window?.end(since: $0) } }

    /// Says in the collection's mark that the window is over, durably: programs that still keep it begin none for a new record.
    private func release(_ older: Route, _ own: Route) async throws {
        try await slots.retrying(destination.name) {
            guard let change = try await ReleasedCollections.noting(older, in: own, coder) else { return () }
            let receipt = try await slots.withLane(own) { try await slots.committer.commit([change]) }
            return receipt.isCommitted ? () : nil
        }
    }

    private func eachPage(of names: [String], _ body: ([Look]) async throws -> Void) async throws {
        var rest = names[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            try await body(try await looks(at: rest.prefix(slots.pageSize)))
            rest = rest.dropFirst(slots.pageSize)
        }
    }

    /// Looks at records: in the collection's own place first, and then in the older one.
    private func looks(at names: ArraySlice<String>) async throws -> [Look] {
        let kept = MirroredLocations(slots, coder, history)
        let own = try names.map { try slots.routes.slot(for: destination.key($0)) }
        let probes = try await Route.probes(own.map(\.route))
        let places = try zip(names, own).compactMap { name, slot in
            try kept.place(of: slot.untyped, at: try slots.routes.slot(for: way.source.key(name)).id)
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

    /// Whether there may be something to do for a record.
    private func isDue(_ look: Look, _ run: MigrationRun) -> Bool {
        let (isRead, contents) = (run.reason == .read, look.contents)
        let holdsOlder = contents.record != nil || contents.isDamaged
        let isLeft = holdsOlder || contents.mirror != nil || contents.mark != nil
        // A read moves only what is not in its place yet.
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
