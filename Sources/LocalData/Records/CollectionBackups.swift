import BackendContract

/// Restores and purges the backups of a whole collection.
struct CollectionBackups<Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let collection: StorageCollection<Record>

    private var backups: Backups { Backups(engine: engine) }

    /// Restores the latest backup of each record that was converted to the last version of the chain since the backup was made. A removed
    /// record stays removed: a process that was killed in a removal may have left its backup.
    /// - Returns: The number of restored records.
    func restore() async throws -> Int {
        guard let chain = collection.template.evolution else { return 0 }
        var restored = 0
        do {
            for version in chain.older.reversed() {
                for try await page in pages(version) {
                    for entry in try await own(page.requireWhole()) {
                        try Task.checkCancellation()
                        let slot = try slots.routes.slot(for: collection.key(entry.address.name))
                        let isRestored = try await slots.unbroken(in: slot.route) { [self] in try await restore(slot, version) }
                        restored += isRestored ? 1 : 0
                    }
                }
            }
        } catch let error as StorageError { throw error.after(restored) }
        return restored
    }

    private func restore(_ slot: Slot<Record>, _ version: Int) async throws -> Bool {
        let standing = try await slot.route.probe()
        if standing.isEmpty { return false }
        // The record already has an earlier version: the backup of a later version was restored before, or an earlier call restored one.
        if case .value(let record) = standing, coder.isOutdated(record.metadata, slot.key) { return false }
        return try await backups.restore(slot, version) != nil
    }

    /// Purges the backups of a collection's records, a page at a time.
    func discard() async throws {
        let route = try slots.routes.slot(for: collection.placeholder).route
        for version in Backups.versions(collection.template.evolution, collection.template.schemaVersion) {
            for try await page in pages(version) {
                try await backups.purge(try await own(page.requireWhole()).map(\.address), route)
            }
        }
    }

    /// Purges the backups of records that were removed. A process that was killed in a removal may have left them.
    func discardRemoved() async throws {
        guard let chain = collection.template.evolution, chain.keepsBackup else { return }
        for version in chain.older + [chain.version] {
            for try await page in pages(version) {
                try Task.checkCancellation()
                // The type tag of a backup decides, as for a slot without a record.
                let own = page.entries.filter { $0.record.map { collection.template.refuses($0.metadata) } != true }
                let kept = try own.map { try slots.routes.slot(for: collection.key($0.address.name)).untyped }
                for (slot, standing) in zip(kept, try await Route.probes(kept.map(\.route))) where standing.isEmpty {
                    try await slots.unbroken(in: slot.route) { [self] in
                        if try await slot.route.probe(.fresh).isEmpty { try await backups.purge(slot) }
                    }
                }
            }
        }
    }

    private func pages(_ version: Int) -> RecordPages {
        RecordQueries(engine: engine).pages(collection, StorageQuery(Backups.namespace(of: collection.namespace, version: version)))
    }

    /// Returns the entries of a page of backups that belong to the collection's type. The type tag of the record in the slot decides; if
    /// the slot has no record, the type tag of the backup. An entry without a type tag belongs to the collection.
    private func own(_ page: [StoragePage.Entry]) async throws -> [StoragePage.Entry] {
        let places = try page.map { try slots.routes.slot(for: collection.key($0.address.name)).route }
        return zip(page, try await Route.probes(places)).filter { kept, standing in
            (standing.record ?? kept.record).map { collection.template.refuses($0.metadata) } != true
        }.map(\.0)
    }
}
