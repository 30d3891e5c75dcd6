import BackendContract

/// Brings every record of a collection to its place and shape, and purges those that have expired.
struct RecordSettler: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var pageConverter: PageConverter { PageConverter(slots, coder, history, program) }
    private var recordQueries: RecordQueries { RecordQueries(slots, coder) }

    func settle<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = try await RecordGatherer(slots, coder, history, program).gather(collection, run)
        let queries = recordQueries
        for version in collection.template.evolution?.older ?? [] {
            for try await page in queries.pages(collection, .version(version)) {
                try Task.checkCancellation()
                let part = try await slots.unbroken { [self] in try await convert(page.entries, collection, run) }
                if let failure = part.failures.first {
                    history.ledger.failed(Converter.ledgerID(collection.name, from: version), failure.error)
                }
                work += part
                run.recordsDone(page.entries.count)
            }
        }
        // Reason: "The version and the expiry of a record are attributes" in Docs/Decisions/Collections.md.
        for try await page in queries.pages(collection, .attribute(StorageMetadata.expiresAttribute, "yes")) {
            let now = coder.now
            for entry in page.entries {
                guard let record = entry.record, record.metadata.isExpired(at: now) else { continue }
                guard await history.expiries.mayPurge(record) else {
                    work.waiting += 1
                    continue
                }
                work.add(try await visit(collection.key(entry.address.name), run))
            }
        }
        try await TombstonePurger(slots: slots, coder: coder, history: history, collection: collection).run()
        try await verify(collection, run, &work)
        return work
    }

    private func visit<Record>(_ key: StorageKey<Record>, _ run: MigrationRun) async throws -> Visit {
        try await Settler(slots, coder, history, program).visit(try slots.routes.slot(for: key), run)
    }

    /// Reads every record, and notes those that cannot be read: a collection that has one is never called unchanged.
    /// Reason: "A sweep reads and decodes every record" in Docs/Decisions/Collections.md.
    private func verify<Record>(
        _ collection: StorageCollection<Record>, _ run: MigrationRun, _ work: inout RecordWork
    ) async throws {
        let known = Set(work.failures.map(\.id))
        // Those that were moved or converted are counted already.
        var counted = work.moved + work.converted
        for try await page in recordQueries.pages(collection, .all) {
            try Task.checkCancellation()
            work.failDamaged(page)
            for entry in page.entries where !known.contains(entry.address.name) {
                do {
                    let slot = try slots.routes.slot(for: collection.key(entry.address.name))
                    guard let record = entry.record else { throw slot.route.damaged(entry) }
                    if !coder.isExpired(record) { _ = try await coder.decode(record, slot) }
                } catch { try work.fail(entry.address.name, error, DamagedRecord(page.domain, entry)) }
            }
            let repeated = min(counted, page.entries.count)
            counted -= repeated
            run.recordsDone(page.entries.count - repeated)
        }
    }

    /// Writes a page of records in their new shape, in one commit; one by one where the store cannot, or another process is writing.
    private func convert<Record>(
        _ page: [StoragePage.Entry], _ collection: StorageCollection<Record>, _ run: MigrationRun
    ) async throws -> RecordWork {
        var work = RecordWork()
        var conversions: [Converter.Conversion] = []
        for entry in page {
            let key = collection.key(entry.address.name)
            do {
                if let conversion = try await pageConverter.conversion(of: entry, to: key) { conversions.append(conversion) }
            } catch { try work.fail(key.name, error) }
        }
        if try await pageConverter.convertTogether(conversions, collection.name) {
            work.converted += conversions.count
            work.bytes += conversions.reduce(0) { $0 + $1.prepared.bytes.count }
        } else {
            for conversion in conversions {
                let key = collection.key(conversion.prepared.route.address.name)
                do { work.add(try await visit(key, run)) } catch { try work.fail(key.name, error) }
            }
        }
        for version in Set(conversions.map(\.version)) { history.ledger.worked(Converter.ledgerID(collection.name, from: version)) }
        return work
    }
}

/// Gives the records of a page a new shape.
struct PageConverter: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var converter: Converter { Converter(slots, coder, history, program) }

    /// What gives a record its key's shape; nil when it has that already, or has expired.
    /// - Parameter includesExpired: Whether an expired record gets the shape, too.
    func conversion<Record>(
        of entry: StoragePage.Entry, to key: StorageKey<Record>, includesExpired: Bool = false
    ) async throws -> Converter.Conversion? {
        let slot = try slots.routes.slot(for: key)
        guard let record = entry.record else { throw slot.route.damaged(entry) }
        return coder.isExpired(record) && !includesExpired ? nil : try await converter.conversion(of: record, slot)
    }

    /// Writes records in their new shape, in one commit. False when the store cannot, or another process changed one of the records meanwhile: nothing was changed then.
    func convertTogether(_ conversions: [Converter.Conversion], _ name: String) async throws -> Bool {
        guard let first = conversions.first else { return true }
        guard first.prepared.route.capabilities.atomicBatch else { return false }
        return try await slots.lanes.withLanes(conversions.map(\.prepared.route.slot), keyName: name) {
            try await converter.convertTogether(conversions)
        }
    }

    /// Writes one record in its key's shape, whatever it holds by now.
    /// - Returns: The size of what was written; nil when it has that shape already, or is gone.
    func convert<Record>(_ key: StorageKey<Record>, includesExpired: Bool = false) async throws -> Int? {
        let slot = try slots.routes.slot(for: key)
        return try await slots.withLane(slot.route) {
            for await _ in slots.attempts {
                guard case .value(let record) = try await slot.route.probe(), includesExpired || !coder.isExpired(record),
                    let conversion = try await converter.conversion(of: record, slot)
                else { return nil }
                if try await converter.convert(conversion, slot) { return conversion.prepared.bytes.count }
            }
            throw slot.route.error(for: .notAttempted)
        }
    }
}
