import BackendContract

/// Settles all records of a collection: moves them from legacy locations, converts them to the version of the collection, and
/// purges expired ones.
struct RecordSettler: EnginePart, Sendable {
    let engine: Engine

    func settle<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = try await RecordGatherer(engine: engine).gather(collection, run)
        // Reason: "The version and the expiry of a record are attributes" in Docs/Decisions/Collections.md.
        for try await page in recordQueries.pages(collection, .attribute(StorageMetadata.expiresAttribute, "yes")) {
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
        try await settleAll(collection, run, &work)
        return work
    }

    private func visit<Record>(_ key: StorageKey<Record>, _ run: MigrationRun) async throws -> Visit {
        try await Settler(engine: engine).visit(try slots.routes.slot(for: key), run)
    }

    /// Reads every record, and brings it to the form that the collection declares. Records that cannot be read are failures: a collection
    /// with such a record is never reported as unchanged.
    /// Reason: "A sweep reads and decodes every record" in Docs/Decisions/Collections.md.
    private func settleAll<Record>(
        _ collection: StorageCollection<Record>, _ run: MigrationRun, _ work: inout RecordWork
    ) async throws {
        let known = Set(work.failures.map(\.id))
        // The moved records were already reported to `recordsDone`.
        var counted = work.moved
        for try await page in recordQueries.pages(collection, .all) {
            try Task.checkCancellation()
            work.failDamaged(page)
            work += try await slots.unbroken { [self] in try await settle(page, except: known, collection, run) }
            let repeated = min(counted, page.entries.count)
            counted -= repeated
            run.recordsDone(page.entries.count - repeated)
        }
    }

    /// Converts the outdated records of a page: in one commit, or one by one if the store has no atomic batches or another process has
    /// changed one of them.
    private func settle<Record>(
        _ page: RecordPage, except known: Set<String>, _ collection: StorageCollection<Record>, _ run: MigrationRun
    ) async throws -> RecordWork {
        var work = RecordWork()
        var conversions: [Converter.Conversion] = []
        var failedVersions: Set<Int> = []
        for entry in page.entries where !known.contains(entry.address.name) {
            let key = collection.key(entry.address.name)
            do {
                guard var conversion = try await pageConverter.conversion(of: entry, to: key) else { continue }
                if conversion.version == collection.schemaVersion {
                    // A record of the present version is not written again only because its type has another name.
                    guard coder.lacksDerivedAttributes(conversion.record.metadata, try slots.routes.slot(for: key)) else { continue }
                    (conversion.prepared.facts.keepsTime, conversion.backup) = (true, nil)
                }
                conversions.append(conversion)
            } catch {
                if let metadata = entry.record?.metadata, let chain = key.evolution, coder.isOutdated(metadata, key),
                    failedVersions.insert(metadata.schemaVersion ?? chain.base).inserted
                {
                    history.ledger.counts.failed(Converter.ledgerID(collection.name, from: metadata.schemaVersion ?? chain.base), error)
                }
                try work.fail(key.name, error, DamagedRecord(page.domain, entry))
            }
        }
        if try await pageConverter.convertTogether(conversions, collection.name) {
            work.converted += conversions.count
            work.bytes += conversions.reduce(0) { $0 + $1.prepared.bytes.count }
        } else {
            for conversion in conversions {
                let key = collection.key(conversion.prepared.route.address.name)
                do {
                    if conversion.version != collection.schemaVersion { work.add(try await visit(key, run)) }
                    guard let bytes = try await pageConverter.convert(key) else { continue }
                    work.converted += 1
                    work.bytes += bytes
                } catch { try work.fail(key.name, error) }
            }
        }
        for version in Set(conversions.map(\.version)) where version != collection.schemaVersion {
            history.ledger.worked(Converter.ledgerID(collection.name, from: version))
        }
        return work
    }
}
