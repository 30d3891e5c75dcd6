import BackendContract
import BackendRuntime

extension StorageRouter {
    /// Converts those records of a collection that were stored with a certain type tag: the stored name of an older
    /// record type. The records stay in their slots. Ids, sync status and other metadata do not change.
    ///
    /// First, all records are read and converted without writing. If one cannot be converted, the call ends and nothing
    /// is changed. Then the records are written a page at a time. A repeated call continues after an interruption, and
    /// does nothing after a complete run.
    ///
    /// ```swift
    /// do {
    ///     let result = try await storage.migrateAll(from: "NoteV1", to: notes)
    ///     print("\(result.records ?? 0) records were converted.")
    /// } catch StorageError.undecodable {
    ///     print("A record cannot be converted. Nothing was changed.")
    /// }
    /// ```
    /// - Parameters:
    ///   - typeTag: The tag of the older type: the earlier value of ``StorageCollection/typeTag``.
    ///   - collection: The collection, declared with the new type.
    /// - Returns: The number of converted records, as ``MigrationResult/records``.
    /// - Throws: ``StorageError``: `undecodable` or `migrationFailed`, which names the first record that cannot be
    ///   converted.
    @concurrent
    @discardableResult
    public nonisolated func migrateAll<Record>(
        from typeTag: String, to collection: StorageCollection<Record>
    ) async throws -> MigrationResult {
        try await call("migrateAll", collection, isStepwise: true) {
            let start = slots.runtime.clock.now
            _ = try entry(collection.placeholder)
            guard typeTag != collection.typeTag else { return MigrationResult(success: true, key: collection.name, records: 0) }
            let done = try await Retagger(
                engine: engine, collection: collection, typeTag: typeTag
            ).run()
            await history.ledger.flush()
            return MigrationResult(
                success: true, key: collection.name, records: done.records, bytes: done.bytes,
                duration: start.duration(to: slots.runtime.clock.now))
        }
    }

    /// Converts every record of a collection, and moves it to another collection. If both collections have the same
    /// location, the records are only converted.
    ///
    /// First, all records are read and converted without writing. If one cannot be converted, the call ends and nothing
    /// is changed. If the newer collection declares the older one as a legacy location by
    /// ``StorageCollection/moved(from:options:_:)``, that declaration converts the records. Otherwise the newer type
    /// decodes the older records by their property names, with the steps of its chain of versions.
    ///
    /// ```swift
    /// let result = try await storage.migrateAll(from: oldNotes, to: notes)
    /// print("\(result.records ?? 0) records were moved from \(result.sources).")
    /// ```
    /// - Parameters:
    ///   - source: The older collection.
    ///   - collection: The newer one.
    /// - Returns: The number of moved or converted records, as ``MigrationResult/records``.
    /// - Throws: ``StorageError``: `undecodable` or `migrationFailed`, which names the first record that cannot be
    ///   converted.
    @concurrent
    @discardableResult
    public nonisolated func migrateAll<Source, Record>(
        from source: StorageCollection<Source>, to collection: StorageCollection<Record>
    ) async throws -> MigrationResult {
        try await call("migrateAll", collection, isStepwise: true) {
            let (from, to) = (try slots.routes.slot(for: source.placeholder), try entry(collection.placeholder))
            let declared = try collection.legacyLocations.first { try slots.routes.route(for: $0.key).slot == from.id }
            if from.id == to.id {
                guard declared == nil else {
                    throw StorageError(
                        StorageError.unsupported, key: collection.name,
                        "moved(from:) names the location of the collection itself. Declare the new version with evolving(_:); nothing was changed."
                    )
                }
                return try await migrateAll(from: source.typeTag, to: collection)
            }
            let start = slots.runtime.clock.now
            let older = collection.reading(source)
            let newer = declared == nil ? collection.moved(from: older) : collection
            let way =
                declared?.source as? any RecordMoving<Record>
                ?? CollectionSource(source: older, options: MigrationOptions(), transform: { $0 })
            let run = await program.run(.forced, to.id)
            // Records that legacy locations still hold for the older collection count among its records.
            try await recordGatherer.gather(source, run).throwFirst()
            do { try await way.validate(for: newer, recordGatherer) } catch let error as StorageError {
                throw error.refusingAll(error.keyName, collection.name)
            }
            let work = try await way.move(to: newer, recordGatherer, run)
            await history.ledger.flush()
            try work.throwFirst()
            return MigrationResult(
                success: true, key: collection.name, sources: [StoragePlace(from.route.domain, source.name)], records: work.moved,
                bytes: work.bytes,
                duration: start.duration(to: slots.runtime.clock.now))
        }
    }
}

extension StorageCollection {
    /// Returns a collection at the location of another one, whose records decode as this collection's type.
    fileprivate func reading<Source>(_ source: StorageCollection<Source>) -> StorageCollection<Record> {
        let serializer: Serializer<Record> = source.template.serializer.name == "plist" ? .plist : .json
        let known = template.evolution.map { $0.older + [$0.version] } ?? []
        var older = StorageCollection(
            source.name, domain: source.domain, security: source.security,
            serializer: source.template.serializer.name == template.serializer.name ? template.serializer : serializer, owner: source.owner,
            description: source.description, typeTag: source.typeTag, id: { _ in "" })
        older.template = older.template.belonging { $0?.requiresTypeTag = source.template.membership?.requiresTypeTag == true }
        return known.contains(source.schemaVersion) ? older.evolving(template.evolution) : older.version(source.schemaVersion)
    }
}
