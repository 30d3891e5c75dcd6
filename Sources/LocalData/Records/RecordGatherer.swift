import BackendContract

/// A legacy location from which records can be moved to a collection.
protocol RecordMoving<Record>: RecordSource {
    /// Makes sure that each record can be found by its id: splits a list that contains all records.
    func prepare(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork

    /// Makes every record as a move would, and writes none.
    /// - Throws: ``StorageError``, which names the first record that cannot be moved.
    func validate(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws

    /// Moves every record that is still at the legacy location.
    func move(to collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork

    /// Returns the name of the move in the ledger.
    func id(for collection: StorageCollection<Record>) -> String

    /// Returns the number of values that are still at the legacy location.
    func pending(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws -> Int
}

/// Moves the records of a collection from their legacy locations to the collection.
struct RecordGatherer: EnginePart, Sendable {
    let engine: Engine

    private func sources<Record>(of collection: StorageCollection<Record>) -> [any RecordMoving<Record>] {
        collection.legacyLocations.compactMap { $0.source as? any RecordMoving<Record> }
    }

    /// Makes sure that each record can be found by its id: splits lists that contain all records.
    func prepare<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        for source in sources(of: collection) { work += try await source.prepare(for: collection, self, run) }
        return work
    }

    /// Moves every record from the legacy locations to the collection.
    func gather<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        for source in sources(of: collection) { work += try await source.move(to: collection, self, run) }
        return work
    }

    /// Returns the number of values that are still at the legacy locations of a collection.
    func pending<Record>(_ collection: StorageCollection<Record>) async throws -> Int {
        var count = 0
        for source in sources(of: collection) { count += try await source.pending(for: collection, self) }
        return count
    }

    /// Returns the number of values that are still at the legacy locations, and of records in the collection that have an earlier version.
    func pendingRecords<Record>(_ collection: StorageCollection<Record>) async throws -> Int {
        var records = try await pending(collection)
        for version in collection.template.evolution?.older ?? [] {
            records += try await RecordQueries(engine: engine).count(collection, version: version)
        }
        return records
    }

    // MARK: Before a read

    /// Makes sure that each record can be found by its id. Throws an error that names the first record for which this fails.
    func requirePrepared(_ collection: some TypedCollection) async throws {
        try await beforeReading(collection.typed, prepare).throwFirst()
    }

    /// Moves the records that are absent from the collection, before the collection is read. A conflict waits for a sweep.
    /// - Returns: The records at legacy locations that cannot be read.
    /// - Throws: ``StorageError`` if the content of a legacy location is not known.
    func gatherBeforeReading<Record>(_ collection: StorageCollection<Record>) async throws -> [RecordWork.Failure] {
        let work = try await beforeReading(collection, gather)
        try work.requireKnown()
        return work.failures
    }

    private func beforeReading<Record>(
        _ collection: StorageCollection<Record>,
        _ work: (StorageCollection<Record>, MigrationRun) async throws -> RecordWork
    ) async throws -> RecordWork {
        if collection.legacyLocations.isEmpty { return RecordWork() }
        let slot = try slots.routes.slot(for: collection.placeholder)
        let done = try await work(collection, await program.run(.read, slot.id))
        await history.ledger.flush()
        return done
    }
}

extension EnginePart {
    var recordQueries: RecordQueries { RecordQueries(engine: engine) }
    var pageConverter: PageConverter { PageConverter(engine: engine) }
    var recordGatherer: RecordGatherer { RecordGatherer(engine: engine) }
}
