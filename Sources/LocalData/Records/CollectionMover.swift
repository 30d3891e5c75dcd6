import BackendContract

/// Moves records from one collection to another, a page at a time. The records of a page whose destinations are empty are moved in one
/// commit, if the store can do that. The others are moved one by one, like the values of single keys.
///
/// The order is that of every move: the new records are durable and were read back before the old ones are deleted. If a run is killed, the
/// next run moves the remaining records.
struct CollectionMover<Source: Codable & Sendable, Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let way: CollectionSource<Source, Record>
    let destination: StorageCollection<Record>

    private struct Candidate: Sendable {
        let slot: Slot<Record>
        let copy: SourceRecord
        let value: Record
    }

    private var id: String { way.id(for: destination) }

    func moveAll(_ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        var pages = recordQueries.pages(way.source, .all).makeAsyncIterator()
        let placeholder = try slots.routes.slot(for: destination.key(destination.name)).untyped
        while true {
            try Task.checkCancellation()
            // The epoch is read before the page: the commit that moves the page fails if the epoch has changed since.
            // Reason: "A removal epoch refuses late moves" in Docs/Decisions/Collections.md.
            let epoch = try await RemovalEpochs(engine: engine).current(for: placeholder)
            guard let page = try await pages.next() else { break }
            work += try await slots.unbroken { try await move(page, run, epoch) }
            run.recordsDone(page.entries.count)
        }
        if work.moved > 0 { history.ledger.worked(id, values: work.moved) }
        if let failure = work.failures.first { history.ledger.counts.failed(id, failure.error) }
        return work
    }

    /// Converts and encodes every record as a move would, and writes nothing.
    /// - Throws: ``StorageError``, which names the first record that cannot be moved.
    func validate() async throws {
        for try await page in recordQueries.pages(way.source, .all) {
            for entry in try page.requireWhole() {
                if let candidate = try await candidate(entry) { _ = try coder.prepare(candidate.value, candidate.slot, .new) }
            }
        }
    }

    /// Returns the converted record and its destination; nil if the record has expired.
    private func candidate(_ entry: StoragePage.Entry) async throws -> Candidate? {
        let source = try slots.routes.slot(for: way.source.key(entry.address.name))
        guard let record = entry.record else { throw source.route.damaged(entry) }
        if coder.isExpired(record) { return nil }
        let old = try await coder.decode(record, source)
        let slot = try slots.routes.slot(for: destination.key(entry.address.name))
        let value = try await program.wrappingUserErrors(slot.name) { try way.transform(old) }
        return Candidate(slot: slot, copy: SourceRecord(source, record), value: value)
    }

    /// Purges an expired record in the source collection.
    private func purge(_ record: StorageRecord, _ id: String) async throws -> Purger.Purge {
        try await Purger(engine: engine).purge(record, try slots.routes.slot(for: way.source.key(id)).untyped)
    }

    private func move(_ page: RecordPage, _ run: MigrationRun, _ epoch: Committer.Change?) async throws -> RecordWork {
        var work = RecordWork()
        work.failDamaged(page)
        var candidates: [Candidate] = []
        var unreadable: [(entry: StoragePage.Entry, error: any Error)] = []
        for entry in page.entries {
            do {
                if let candidate = try await candidate(entry) {
                    candidates.append(candidate)
                } else if run.reason != .read, let record = entry.record {
                    switch try await purge(record, entry.address.name) {
                    case .purged: work.expired += 1
                    case .kept: work.waiting += 1
                    case .changed: break
                    }
                }
            } catch { unreadable.append((entry, error)) }
        }
        // Reason: "A read of a collection decides no conflict" in Docs/Decisions/Collections.md.
        if run.reason == .read { candidates = try await absent(candidates) { $0.slot } }
        if let first = candidates.first {
            try Mover(engine: engine).checkProtection(of: [first.copy.key], way.options, first.slot.untyped)
            try await move(candidates, run, epoch, &work)
        }
        try await settle(unreadable, page, run, &work)
        return work
    }

    /// Returns the records whose destination is empty. A read moves only these. If the source and the destination both have a record, a
    /// sweep compares them.
    private func absent<Element>(_ elements: [Element], _ slot: (Element) throws -> Slot<Record>) async throws -> [Element] {
        let probes = try await Route.probes(try elements.map { try slot($0).route })
        return zip(elements, probes).filter { if case .absent = $1 { true } else { false } }.map(\.0)
    }

    private func move(
        _ candidates: [Candidate], _ run: MigrationRun, _ epoch: Committer.Change?, _ work: inout RecordWork
    ) async throws {
        var single = candidates
        if candidates.first?.slot.route.capabilities.atomicBatch == true {
            single = try await slots.lanes.withLanes(candidates.map(\.slot.id), keyName: destination.name) {
                try await moveTogether(candidates, run, epoch, &work)
            }
        }
        for candidate in single {
            do {
                work.add(try await slots.withLane(candidate.slot.route) { try await Settler(engine: engine).settle(candidate.slot, run) })
            } catch { try work.fail(candidate.slot.name, error) }
        }
    }

    /// Handles the records that cannot be read. In a read, those whose destination is empty are failures, because the read would have to
    /// move them. A sweep settles every record, and compares its bytes with the content of the destination.
    private func settle(
        _ unreadable: [(entry: StoragePage.Entry, error: any Error)], _ page: RecordPage, _ run: MigrationRun, _ work: inout RecordWork
    ) async throws {
        func slot(_ entry: StoragePage.Entry) throws -> Slot<Record> { try slots.routes.slot(for: destination.key(entry.address.name)) }
        for (entry, error) in run.reason == .read ? try await absent(unreadable, { try slot($0.entry) }) : unreadable {
            let damaged = DamagedRecord(page.domain, entry)
            do {
                if run.reason == .read { throw error }
                let slot = try slot(entry)
                work.add(try await slots.withLane(slot.route) { try await Settler(engine: engine).settle(slot, run) })
            } catch { try work.fail(entry.address.name, error, damaged) }
        }
    }

    /// Moves the records whose destination is empty, in one commit. In a read, a record that cannot be written is a failure.
    /// - Returns: The records that must be settled one by one. In a sweep, these include the records that cannot be written.
    private func moveTogether(
        _ candidates: [Candidate], _ run: MigrationRun, _ epoch: Committer.Change?, _ work: inout RecordWork
    ) async throws -> [Candidate] {
        var free: [Candidate] = []
        var rest: [Candidate] = []
        for (candidate, probe) in zip(candidates, try await Route.probes(candidates.map(\.slot.route))) {
            if case .absent = probe { free.append(candidate) } else { rest.append(candidate) }
        }
        if run.reason == .read { rest = [] }
        if free.isEmpty { return rest }
        var ready: [Candidate] = []
        var moves = Moves(companions: epoch.map { [$0] } ?? [])
        for candidate in free {
            do {
                moves.writes.append(try await change(candidate))
                ready.append(candidate)
            } catch let error as StorageError {
                if run.reason == .read { try work.fail(candidate.slot.name, error) } else { rest.append(candidate) }
            }
        }
        if ready.isEmpty { return rest }
        (moves.copies, moves.destinations) = (ready.map(\.copy), ready.map(\.slot.route))
        guard let done = try await executor.run(moves) else { return run.reason == .read ? ready : candidates }
        work.moved += ready.count
        work.bytes += moves.writes.reduce(0) { $0 + $1.mutation.payloadSize }
        work.residue += done.residue
        return rest
    }

    /// Returns the change that writes a record to its empty destination. First stores the records to which it refers.
    private func change(_ candidate: Candidate) async throws -> Committer.Change {
        let route = candidate.slot.route
        let facts = WriteAttributes.carried(from: [candidate.copy.record.metadata])
        let prepared = try coder.prepare(candidate.value, candidate.slot, facts)
        let origin = try await origins.made(of: [candidate.copy], migration: id, for: route)
        return try await executor.put(
            prepared, origin: origin, if: .absent,
            for: ReferenceHolder(route: route, copies: [candidate.copy], allowsWeakerProtection: way.options.allowsWeakerProtection))
    }
}

extension CollectionSource: RecordMoving {
    func prepare(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork {
        try await gatherer.prepare(source, run)
    }

    func id(for collection: StorageCollection<Record>) -> String { "\(collection.name):moved:\(source.domain)/\(source.name)" }

    func move(to collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork {
        var work = try await gatherer.gather(source, run)
        if kept == nil { work += try await CollectionMover(engine: gatherer.engine, way: self, destination: collection).moveAll(run) }
        work += try await MirroredRecords(engine: gatherer.engine, way: self, destination: collection).settle(run)
        return work
    }

    func validate(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws {
        try await CollectionMover(engine: gatherer.engine, way: self, destination: collection).validate()
    }

    func pending(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws -> Int {
        let waiting = try await gatherer.pending(source)
        if kept != nil { return try await MirroredRecords(engine: gatherer.engine, way: self, destination: collection).pending() + waiting }
        return try await RecordQueries(engine: gatherer.engine).count(source, .all) + waiting
    }
}

extension StorageMutation {
    /// The number of bytes of the payload that a put stores; 0 for any other operation.
    var payloadSize: Int { if case .put(let payload, _) = operation { payload.byteCount } else { 0 } }
}
