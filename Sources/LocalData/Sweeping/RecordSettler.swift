import BackendContract

/// Settles all records of a collection: moves them from legacy locations, converts them to the version of the collection, and
/// purges expired ones.
struct RecordSettler: EnginePart, Sendable {
    let engine: Engine

    private var pageConverter: PageConverter { PageConverter(engine: engine) }
    private var recordQueries: RecordQueries { RecordQueries(engine: engine) }

    func settle<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = try await RecordGatherer(engine: engine).gather(collection, run)
        let queries = recordQueries
        for version in collection.template.evolution?.older ?? [] {
            for filter in RecordFilter.versions(version) {
                for try await page in queries.pages(collection, filter) {
                    try Task.checkCancellation()
                    let part = try await slots.unbroken { [self] in try await convert(page.entries, collection, run) }
                    if let failure = part.failures.first {
                        history.ledger.failed(Converter.ledgerID(collection.name, from: version), failure.error)
                    }
                    work += part
                    run.recordsDone(page.entries.count)
                }
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
        do {
            try await CollectionBackups(engine: engine, collection: collection).discardRemoved()
        } catch let error as StorageError {
            work.residue.append("the backups of removed records of \(collection.name): \(error.message)")
        }
        try await TombstonePurger(engine: engine, collection: collection).run()
        try await verify(collection, run, &work)
        return work
    }

    private func visit<Record>(_ key: StorageKey<Record>, _ run: MigrationRun) async throws -> Visit {
        try await Settler(engine: engine).visit(try slots.routes.slot(for: key), run)
    }

    /// Reads every record, and adds those that cannot be read to the failures: a collection with such a record is never reported
    /// as unchanged.
    /// Reason: "A sweep reads and decodes every record" in Docs/Decisions/Collections.md.
    private func verify<Record>(
        _ collection: StorageCollection<Record>, _ run: MigrationRun, _ work: inout RecordWork
    ) async throws {
        let known = Set(work.failures.map(\.id))
        // The moved and converted records were already reported to `recordsDone`.
        var counted = work.moved + work.converted
        for try await page in recordQueries.pages(collection, .all) {
            try Task.checkCancellation()
            work.failDamaged(page)
            var outdated: [StoragePage.Entry] = []
            for entry in page.entries where !known.contains(entry.address.name) {
                do {
                    let slot = try slots.routes.slot(for: collection.key(entry.address.name))
                    guard let record = entry.record else { throw slot.route.damaged(entry) }
                    if coder.isExpired(record) { continue }
                    _ = try await coder.decode(record, slot)
                    if coder.lacksDerivedAttributes(record.metadata, slot) { outdated.append(entry) }
                } catch { try work.fail(entry.address.name, error, DamagedRecord(page.domain, entry)) }
            }
            if !outdated.isEmpty {
                work += try await slots.unbroken { [self, outdated] in try await derive(outdated, collection) }
            }
            let repeated = min(counted, page.entries.count)
            counted -= repeated
            run.recordsDone(page.entries.count - repeated)
        }
    }

    /// Gives records the attributes that their collection derives: in one commit, or one by one if the store has no atomic
    /// batches or another process has changed one of them.
    private func derive<Record>(_ page: [StoragePage.Entry], _ collection: StorageCollection<Record>) async throws -> RecordWork {
        var work = RecordWork()
        var derivations: [Converter.Conversion] = []
        for entry in page {
            do {
                if let derivation = try await pageConverter.derivation(of: entry, collection.key(entry.address.name)) {
                    derivations.append(derivation)
                }
            } catch { try work.fail(entry.address.name, error) }
        }
        if try await pageConverter.convertTogether(derivations, collection.name) {
            work.converted += derivations.count
            work.bytes += derivations.reduce(0) { $0 + $1.prepared.bytes.count }
            return work
        }
        for id in derivations.map(\.prepared.route.address.name) {
            do {
                guard let bytes = try await pageConverter.derive(collection.key(id)) else { continue }
                work.converted += 1
                work.bytes += bytes
            } catch { try work.fail(id, error) }
        }
        return work
    }

    /// Converts a page of records: in one commit, or one by one if the store has no atomic batches or another process has
    /// changed one of them.
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
