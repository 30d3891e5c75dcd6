import BackendContract
import BackendRuntime

/// Follows the records of a collection: first all present records, then their changes.
///
/// It keeps the id and the revision of each record, and no record. An own change is delivered from the queue of the subscription. Every
/// other event causes a read, and the revision shows whether the record has changed.
package actor RecordFollower<Record: Codable & Sendable> {
    /// A change of one record.
    package struct Update: Sendable {
        package let id: String
        /// The record that was delivered before, if it is known.
        package let old: Record?
        /// The record; nil if it was removed.
        package let new: Record?
        /// Whether a record with this id was delivered before.
        package let wasPresent: Bool
    }

    /// Changes in the order in which they must be applied.
    package struct Step: Sendable {
        package let updates: [Update]
        /// Whether all events so far have been delivered.
        package let isCurrent: Bool
    }

    private struct Scan {
        /// The router that reads the records: see `StorageRouter.gathering(_:)`.
        let reader: StorageRouter
        var pages: RecordPages.Iterator
        /// The delivered records that no page contained so far.
        var missing: Set<StorageAddress>
    }

    private let router: StorageRouter
    private let collection: StorageCollection<Record>
    private let onDamage: DamagePolicy
    /// Whether the follower continues after an error, and throws `locked` when the program locks a store.
    private let recovers: Bool
    private let subscription: RecordSubscription

    private var stores: [BackendIdentity] = []
    private var known: [StorageAddress: StorageRevision] = [:]
    private var ready: [Update] = []
    /// The changes of the last step that ``nextUpdate()`` has not returned, in reverse order.
    private var undelivered: [Update] = []
    /// How many locks had begun before the last step.
    private var locksBefore = 0
    private var work = RecordSubscription.Pending()
    private var scan: Scan?
    /// Whether events were lost, so that the next event causes a scan.
    private var hasLost = false
    private var retry = Retry()
    private var isOver = false

    package init(_ router: StorageRouter, _ collection: StorageCollection<Record>, onDamage: DamagePolicy, recovers: Bool) {
        (self.router, self.collection, self.onDamage, self.recovers) = (router, collection, onDamage, recovers)
        subscription = RecordSubscription(reportsLocks: recovers)
    }

    deinit {
        retry.cancel()
        router.slots.committer.hub.unfollow(subscription)
    }

    // MARK: For the reader

    /// Returns the next changes; nil at the end, after a shutdown.
    /// - Throws: ``StorageError``. A follower that recovers can be asked again: it waits, and then begins with all present records.
    package func next() async throws -> Step? {
        defer {
            // Later events are not read, so callers must not wait for them.
            if isOver {
                subscription.end()
                work = RecordSubscription.Pending()
            }
        }
        do {
            while !isOver { if let step = try await advance() { return step } }
            return nil
        } catch {
            if error is CancellationError || Task.isCancelled {
                isOver = true
                throw StorageError.cancelled(collection.name)
            }
            if StorageError.shutDown ~= error, !stores.isEmpty {
                isOver = true
                return nil
            }
            // Without stores, the collection cannot be used, and no later event changes that.
            isOver = !recovers || stores.isEmpty
            known = [:]
            ready = []
            park()
            if recovers {
                retry.schedule(after: error, router.configuration.runtime.clock) { [weak subscription] in subscription?.rescan() }
            }
            throw error
        }
    }

    /// Returns the next change alone; nil at the end, after a shutdown. A change that was read before a lock is not delivered after it.
    /// - Throws: ``StorageError``.
    package func nextUpdate() async throws -> Update? {
        while true {
            let gate = router.slots.routes.gate
            if gate.locks != locksBefore, !gate.isShutDown { takeBack() }
            if let update = undelivered.popLast() { return update }
            guard let step = try await next() else { return nil }
            undelivered = step.updates.reversed()
        }
    }

    /// Drops the changes that were read and not delivered. A scan finds them again, once no store is locked.
    private func takeBack() {
        if undelivered.isEmpty { return }
        // The first change of a record is the last in the list. It says whether the reader has the record.
        for update in undelivered {
            known[StorageAddress(update.id, in: collection.namespace)] = update.wasPresent ? Self.unknownRevision : nil
        }
        undelivered = []
        restartScan()
    }

    private func restartScan() {
        scan = nil
        work = RecordSubscription.Pending(isScan: true, signals: work.signals)
    }

    /// No record has this revision.
    private static var unknownRevision: StorageRevision { StorageRevision([]) }

    /// Begins again with all present records.
    package func restart() {
        (known, ready) = ([:], [])
        restartScan()
    }

    /// Waits until the reader has applied all events so far.
    package nonisolated func caughtUp() async {
        await withCheckedContinuation { continuation in subscription.push(ReleaseSignal(continuation)) }
    }

    /// Ends the sequence of changes. Nothing is delivered after the events that wait.
    package nonisolated func end() { subscription.end() }

    // MARK: Steps

    private func advance() async throws -> Step? {
        try Task.checkCancellation()
        if stores.isEmpty { try await router.call("changes", collection) { try begin() } }
        if !ready.isEmpty { return step() }
        if work.isEmpty, scan == nil {
            // The reader has applied everything that came before these signals.
            work.signals = []
            guard var taken = await subscription.next() else {
                isOver = true
                try Task.checkCancellation()
                return nil
            }
            if taken.isEmpty {
                work = taken
                return nil
            }
            if hasLost { (taken.isScan, hasLost) = (true, false) }
            work = taken
        }
        let gate = router.slots.routes.gate
        let locks = gate.locks
        locksBefore = locks
        if stores.contains(where: gate.refuses) {
            // After a shutdown, only changes from before the shutdown are delivered.
            guard gate.isShutDown else {
                park()
                if recovers { throw gate.refusal(collection.name) }
                return nil
            }
            stopReading()
        }
        if subscription.isOver { stopReading() }
        do { try await proceed() } catch let error as StorageError {
            guard !recovers, !gate.isShutDown, gate.locks != locks else { throw error }
            // The program has locked a store during the read. Unlocking causes another read, and may have done so already.
            park()
            if !stores.contains(where: gate.refuses) { subscription.rescan() }
        }
        retry.succeeded()
        return ready.isEmpty && !isCurrent ? nil : step()
    }

    private func stopReading() { (scan, work.isScan, work.looks) = (nil, false, []) }

    private var isCurrent: Bool { work.isEmpty && scan == nil && !hasLost }

    private func step() -> Step {
        defer { ready = [] }
        return Step(updates: ready, isCurrent: isCurrent)
    }

    /// Drops the work. The next event causes a scan, which replaces it.
    private func park() {
        work = RecordSubscription.Pending()
        scan = nil
        hasLost = true
    }

    private func begin() throws {
        let own = try router.entry(collection.placeholder).route
        var regions = [RecordSubscription.Region(store: own.slot.store, namespace: collection.namespace, part: .records)]
        var backends = [own.backend]
        var seen: Set<PhysicalSlot> = []
        var open = AnyStorageKey.collection(collection).legacyLocations
        while let location = open.popLast() {
            let route = try router.slots.routes.route(for: location)
            if !seen.insert(route.slot).inserted { continue }
            func namespace<Older: TypedCollection>(_ older: Older) -> StorageNamespace { older.typed.namespace }
            if let older = location.collection {
                regions.append(RecordSubscription.Region(store: route.slot.store, namespace: namespace(older), part: .older))
            } else {
                regions.append(
                    RecordSubscription.Region(
                        store: route.slot.store, namespace: route.address.namespace, part: .list(route.address.name)))
            }
            backends.append(route.backend)
            open += location.legacyLocations
        }
        subscription.listen(to: regions)
        router.slots.committer.hub.follow(subscription, in: backends)
        // A shutdown may have ended all subscriptions before this one was added.
        if router.slots.routes.gate.isShutDown { throw router.slots.routes.gate.refusal(collection.name) }
        stores = backends.map(\.identity)
        work.isScan = true
    }

    private func proceed() async throws {
        if !work.changes.isEmpty {
            let changes = work.changes
            work.changes = []
            for change in changes { try await deliver(change.record, at: change.address, replacing: change.replaced) }
        } else if work.isScan {
            (work.isScan, work.looks) = (false, [])
            try await beginScan()
        } else if scan != nil {
            try await scanPage()
        } else if !work.looks.isEmpty {
            let addresses = Array(work.looks.prefix(router.slots.pageSize))
            work.looks.subtract(addresses)
            try await look(at: addresses)
        }
    }

    // MARK: Scanning

    private func beginScan() async throws {
        let gathered = try await router.call("changes", collection) { try await router.gathering(collection) }
        // The scan reads the result of every event up to here, except those of legacy locations. A commit whose event comes later still
        // holds its lane: see `mayChange`.
        subscription.clear()
        for failure in gathered.unreadable {
            if let damaged = failure.damaged { try await report(damaged, failure.error) }
        }
        scan = Scan(
            reader: gathered.router, pages: gathered.router.recordQueries.pages(collection, .all).makeAsyncIterator(),
            missing: Set(known.keys))
    }

    private func scanPage() async throws {
        guard var scan else { return }
        guard let page = try await router.call("changes", collection, { try await scan.pages.next() }) else {
            self.scan = nil
            // A page may lack a record that was changed during the scan.
            work.looks.formUnion(scan.missing)
            return
        }
        for slot in page.damaged { try await report(page.record(slot), page.reason(slot)) }
        for entry in page.entries {
            scan.missing.remove(entry.address)
            if let record = entry.record, record.revision == known[entry.address], !router.coder.isExpired(record) { continue }
            // After the read of the page: a change that it has not seen is delivered later.
            if mayChange(entry.address) {
                work.looks.insert(entry.address)
            } else if let record = entry.record {
                try await deliver(record, at: entry.address, scan.reader, isListed: true)
            } else {
                let route = try slot(entry.address).route
                try await damaged(DamagedRecord(page.domain, entry), route.damaged(entry), at: entry.address)
            }
        }
        self.scan = scan
    }

    // MARK: Re-reading

    private func look(at addresses: [StorageAddress]) async throws {
        try await router.call("changes", collection) {
            let slots = try addresses.map(slot)
            var unwritten: [StorageAddress: ValueReader.Reading<Record>] = [:]
            if !collection.legacyLocations.isEmpty {
                for slot in slots { unwritten[slot.address] = try await settle(slot) }
            }
            for (slot, seen) in zip(slots, try await Route.read(slots.map(\.route), .validated)) {
                if let reading = unwritten[slot.address] {
                    try await deliver(reading.record, at: slot.address)
                    continue
                }
                var probe = seen
                if mayChange(slot.address) {
                    guard let settled = try await probeInLane(slot) else {
                        // The change is delivered first.
                        subscription.look(at: slot.address)
                        continue
                    }
                    probe = settled
                }
                if case .corrupt(let corruption) = try slot.route.known(probe) {
                    let damaged = corruption.revision.map { DamagedRecord(slot.route.domain, .named(slot.address, $0)) }
                    try await self.damaged(damaged, slot.route.corrupted(corruption), at: slot.address)
                } else {
                    try await deliver(probe.record, at: slot.address)
                }
            }
        }
    }

    /// Moves a record from a legacy location, as a read by its id does.
    /// - Returns: The record as it would be, if the store is full or read-only; otherwise nil.
    private func settle(_ slot: Slot<Record>) async throws -> ValueReader.Reading<Record>? {
        do { _ = try await router.valueReader.read(slot) } catch let error as StorageError where error.concernsOneRecord {
            // A scan finds out which record is damaged, and reports it.
            work.isScan = true
        } catch { return try await router.rehearsed(slot, after: error) }
        return nil
    }

    /// Reads a slot while no call of this process changes it. Nil if a change of this process waits to be delivered.
    private func probeInLane(_ slot: Slot<Record>) async throws -> StorageProbe? {
        try await router.slots.withLane(slot.route) {
            subscription.hasChange(of: slot.address) ? nil : try await slot.route.read()
        }
    }

    /// Whether a change of this process, which a read may have seen, is not delivered yet. A call publishes its change before it leaves
    /// the lane.
    /// Reason: "A follower keeps ids and revisions, and no records" in Docs/Decisions/Collections.md.
    private func mayChange(_ address: StorageAddress) -> Bool {
        router.slots.lanes.isHeld(PhysicalSlot(store: stores[0], address: address)) || subscription.hasChange(of: address)
    }

    // MARK: Delivering

    private func slot(_ address: StorageAddress) throws -> Slot<Record> {
        try router.slots.routes.slot(for: collection.key(address.name))
    }

    /// Notes the new content of a slot, if it differs from what was delivered.
    /// - Parameters:
    ///   - replaced: The record that the change replaced, if it is known.
    ///   - isListed: Whether the store has already selected the record by its type tag.
    private func deliver(
        _ record: StorageRecord?, at address: StorageAddress, replacing replaced: ReplacedRecord? = nil, _ reader: StorageRouter? = nil,
        isListed: Bool = false
    ) async throws {
        let reader = reader ?? router
        let before = known[address]
        let query = RecordQueries(engine: router.engine).query(collection, .all)
        guard let record, isListed || query.matches(record.metadata), !router.coder.isExpired(record) else {
            return try await deliverRemoval(at: address, replacing: replaced)
        }
        if record.revision == before { return }
        let slot = try reader.slots.routes.slot(for: collection.key(address.name))
        let new: Record
        do { new = try await reader.coder.decode(record, slot) } catch let error as StorageError where error.concernsOneRecord {
            return try await damaged(DamagedRecord(slot.route.domain, .named(address, record.revision)), error, at: address)
        }
        let old = await previous(replaced, at: address)
        known[address] = record.revision
        ready.append(Update(id: address.name, old: old, new: new, wasPresent: before != nil))
    }

    private func deliverRemoval(at address: StorageAddress, replacing replaced: ReplacedRecord?) async throws {
        guard known[address] != nil else { return }
        let old = await previous(replaced, at: address)
        known[address] = nil
        ready.append(Update(id: address.name, old: old, new: nil, wasPresent: true))
    }

    /// The record that was delivered last for an id, if it is the one that a change replaced.
    private func previous(_ replaced: ReplacedRecord?, at address: StorageAddress) async -> Record? {
        guard let record = replaced?.record, record.revision == known[address], let slot = try? slot(address) else { return nil }
        return try? await router.coder.decode(record, slot)
    }

    /// A damaged record is reported, and counts as absent.
    private func damaged(_ record: DamagedRecord?, _ reason: StorageError, at address: StorageAddress) async throws {
        guard let record else { throw reason }
        try await report(record, reason)
        try await deliverRemoval(at: address, replacing: nil)
    }

    private func report(_ record: DamagedRecord, _ reason: StorageError) async throws {
        _ = try await onDamage.value(of: ListEntry<Record>.damaged(record, reason: reason), router.history.events)
    }
}
