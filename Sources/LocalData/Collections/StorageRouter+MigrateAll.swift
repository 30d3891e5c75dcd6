import BackendContract
import BackendRuntime

extension StorageRouter {
    /// Brings every record that was stored under the tag of another type to a collection's own type, in its place. Ids, sync status and other metadata stay.
    ///
    /// Every record is looked at first: one that cannot be read as the new type ends the call, and nothing was changed. Then they are written a page at a time; a run
    /// that was killed goes on where it was, and a second run does nothing.
    /// - Parameters:
    ///   - typeTag: The tag of the older type, as ``StorageCollection/typeTag`` was.
    ///   - collection: The collection, declared with the new type.
    /// - Returns: How many records were brought over, as `records` in its metadata.
    /// - Throws: ``StorageError``: `undecodable` or `migrationFailed` naming the first record that is not one of the new type.
    @concurrent
    @discardableResult
    public nonisolated func migrateAll<Record>(
        from typeTag: String, to collection: StorageCollection<Record>
    ) async throws -> MigrationResult {
        let engine = engine
        let start = engine.runtime.clock.now
        _ = try engine.routes.entryRoute(for: collection.placeholder)
        guard typeTag != collection.typeTag else { return MigrationResult(success: true, key: collection.name, metadata: ["records": "0"]) }
        for try await page in engine.pages(collection, .all, typeTag: typeTag) where engine.safeguards.contains(.validation) {
            for entry in page {
                do { _ = try await engine.conversion(of: entry, to: collection.retagging(entry.address.name)) } catch let error
                    as StorageError
                {
                    throw error.refusingAll(entry.address.name, collection.name)
                }
            }
        }
        var records = 0
        var bytes = 0
        for try await page in engine.pages(collection, .all, typeTag: typeTag) {
            try Task.checkCancellation()
            do {
                let (count, size) = try await engine.unbroken { try await engine.retag(page, collection) }
                records += count
                bytes += size
            } catch let error as StorageError { throw records == 0 ? error : error.afterOthers }
        }
        if records > 0 { engine.ledger.worked("\(collection.name):\(typeTag)") }
        await engine.ledger.flush()
        return MigrationResult(
            success: true, key: collection.name, source: typeTag, bytes: bytes, duration: start.duration(to: engine.runtime.clock.now),
            metadata: ["records": "\(records)"])
    }

    /// Brings every record of a collection to another: to its type where both are one place, and to its place.
    ///
    /// Every record is looked at first: one that cannot be read as the new type ends the call, and nothing was changed. A collection that says itself how it takes its
    /// records from the older one, by ``StorageCollection/moved(from:options:_:)``, takes them in that way; else what was stored by the older type is read by the newer one,
    /// property by property and by the steps of its chain.
    /// - Parameters:
    ///   - source: The older collection.
    ///   - collection: The newer one.
    /// - Returns: How many records were brought over, as `records` in its metadata.
    /// - Throws: ``StorageError``: `undecodable` or `migrationFailed` naming the first record that is not one of the new type.
    @concurrent
    @discardableResult
    public nonisolated func migrateAll<Source, Record>(
        from source: StorageCollection<Source>, to collection: StorageCollection<Record>
    ) async throws -> MigrationResult {
        let engine = engine
        let (from, to) = (try engine.routes.route(for: source.placeholder), try engine.routes.entryRoute(for: collection.placeholder))
        let declared = try collection.olderPlaces.first { try engine.routes.route(for: $0.key).slot == from.slot }
        if from.slot == to.slot {
            guard declared == nil else {
                throw StorageError(
                    StorageError.unsupported, key: collection.name,
                    "The collection takes its records by moved(from:) from its own place. There, declare the new shape with evolving(_:); nothing was changed."
                )
            }
            return try await migrateAll(from: source.typeTag, to: collection)
        }
        let start = engine.runtime.clock.now
        let older = collection.reading(source)
        let newer = declared == nil ? collection.moved(from: older) : collection
        let way = declared?.source as? any RecordSource<Record> ?? CollectionSource(older, MigrationOptions()) { $0 }
        let context = try await engine.context(.forced, to)
        // What older places still hold for the older collection is among its records.
        try (await engine.gather(source, context)).throwFirst()
        if engine.safeguards.contains(.validation) {
            do { try await way.validate(for: newer, engine) } catch let error as StorageError {
                throw error.refusingAll(error.keyName, collection.name)
            }
        }
        let work = try await way.bring(to: newer, engine, context)
        await engine.ledger.flush()
        try work.throwFirst()
        return MigrationResult(
            success: true, key: collection.name, source: "\(from.domain)/\(source.name)", bytes: work.bytes,
            duration: start.duration(to: engine.runtime.clock.now), metadata: ["records": "\(work.moved)"])
    }
}

extension MigrationEngine {
    /// Writes a page of records under a collection's own tag.
    fileprivate func retag<Record>(
        _ page: [StoragePage.Entry], _ collection: StorageCollection<Record>
    ) async throws -> (count: Int, bytes: Int) {
        var changes: [RecordChange] = []
        let now = runtime.clock.wallSeconds
        for entry in page {
            if let record = entry.record, record.metadata.isExpired(at: now) {
                // No sweep of the newer type would find it.
                let key = collection.retagging(entry.address.name)
                let route = try routes.route(for: key)
                _ = try await lanes.withLane(route.slot, keyName: key.name) { try await self.purge(record, key, route) }
                continue
            }
            do {
                if let change = try await conversion(of: entry, to: collection.retagging(entry.address.name)) { changes.append(change) }
            } catch let error as StorageError { throw error.refusingAll(entry.address.name, collection.name, outcome: .unknown) }
        }
        if try await lanes.withLanes(changes.map(\.route.slot), keyName: collection.name, { [changes] in try await self.commit(changes) }) {
            return (changes.count, changes.reduce(0) { $0 + $1.mutations[0].payloadSize })
        }
        var (count, bytes) = (0, 0)
        for entry in page {
            let key = collection.retagging(entry.address.name)
            let route = try routes.route(for: key)
            let size = try await lanes.withLane(route.slot, keyName: key.name) { try await self.retag(key, route) }
            count += size == nil ? 0 : 1
            bytes += size ?? 0
        }
        return (count, bytes)
    }

    /// Writes one record under its key's tag. Nil when it has that already, or is gone.
    private func retag<Record>(_ key: StorageKey<Record>, _ route: Route) async throws -> Int? {
        for _ in 0..<Self.attempts {
            guard case .value(let record) = try await standing(route) else { return nil }
            guard let change = try await conversion(of: StoragePage.Entry(route.address, .record(record)), to: key) else { return nil }
            try await store(change.references, for: change.holder)
            switch try await apply(change.mutations[0], after: change.mutations.dropFirst().first, route) {
            case .applied:
                hub.publishDoubt(at: route.slot)
                return change.mutations[0].payloadSize
            case .conflict: continue
            case let result: throw route.error(for: result)
            }
        }
        throw route.error(for: .notAttempted)
    }
}

extension StorageCollection {
    /// The key of a record that may have been stored under another type's tag.
    fileprivate func retagging(_ id: String) -> StorageKey<Record> {
        var key = key(id)
        key.acceptsOtherTags = true
        return key
    }

    /// Another collection, read as this one's type reads it.
    fileprivate func reading<Source>(_ source: StorageCollection<Source>) -> StorageCollection<Record> {
        let serializer: Serializer<Record> = source.template.serializer.name == "plist" ? .plist : .json
        let known = template.evolution.map { $0.older + [$0.version] } ?? []
        return StorageCollection(
            source.name, domain: source.domain, security: source.security,
            serializer: source.template.serializer.name == template.serializer.name ? template.serializer : serializer, owner: source.owner,
            description: source.description, typeTag: source.typeTag, id: { _ in "" }
        )
        .evolving(known.contains(source.schemaVersion) ? template.evolution : nil)
        .version(known.contains(source.schemaVersion) ? 1 : source.schemaVersion)
    }
}

extension StorageError {
    /// The same error of a call that has brought other records over already.
    fileprivate var afterOthers: StorageError {
        outcome == .notApplied ? StorageError(code, key: keyName, message, outcome: .unknown, underlying: underlying) : self
    }

    /// The error of one record that keeps all of them where they are.
    fileprivate func refusingAll(_ id: String, _ collection: String, outcome: MutationOutcome = .notApplied) -> StorageError {
        StorageError(
            code, key: id,
            "The record \(id) of \(collection) cannot be brought over\(outcome == .notApplied ? ", and none was" : "; run it again when it is mended"). \(message)",
            outcome: outcome, underlying: underlying)
    }
}
