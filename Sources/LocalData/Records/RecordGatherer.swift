import BackendContract

/// A legacy location that can move its records to a collection.
protocol RecordMoving<Record>: RecordSource {
    /// Makes sure that each record can be found by its id.
    func prepare(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork

    /// Makes every record and writes none.
    /// - Throws: ``StorageError`` naming the first record that cannot be moved.
    func validate(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws

    /// Moves every record that is still there.
    func move(to collection: StorageCollection<Record>, _ gatherer: RecordGatherer, _ run: MigrationRun) async throws -> RecordWork

    /// The name of the move in the ledger.
    func id(for collection: StorageCollection<Record>) -> String

    /// How many values are still there.
    func pending(for collection: StorageCollection<Record>, _ gatherer: RecordGatherer) async throws -> Int
}

/// Moves a collection's records from their legacy locations.
struct RecordGatherer: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private func sources<Record>(of collection: StorageCollection<Record>) -> [any RecordMoving<Record>] {
        collection.legacyLocations.compactMap { $0.source as? any RecordMoving<Record> }
    }

    /// Makes sure that each record can be found by its id: lists that held all of them are taken apart.
    func prepare<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        for source in sources(of: collection) { work += try await source.prepare(for: collection, self, run) }
        return work
    }

    /// Moves every record to the collection's own place.
    func gather<Record>(_ collection: StorageCollection<Record>, _ run: MigrationRun) async throws -> RecordWork {
        var work = RecordWork()
        for source in sources(of: collection) { work += try await source.move(to: collection, self, run) }
        return work
    }

    /// How many values legacy locations still hold for a collection.
    func pending<Record>(_ collection: StorageCollection<Record>) async throws -> Int {
        var count = 0
        for source in sources(of: collection) { count += try await source.pending(for: collection, self) }
        return count
    }

    /// How many records legacy locations still hold, or have an earlier shape.
    func pendingRecords<Record>(_ collection: StorageCollection<Record>) async throws -> Int {
        var records = try await pending(collection)
        for version in collection.template.evolution?.older ?? [] {
            records += try await RecordQueries(slots, coder).count(collection, version: version)
        }
        return records
    }

    // MARK: Before a read

    /// Makes sure that each record can be found by its id, or fails with the first that cannot.
    func requirePrepared(_ collection: any TypedCollection) async throws {
        func open<Collection: TypedCollection>(_ collection: Collection) async throws {
            try await beforeReading(collection.typed, prepare).throwFirst()
        }
        try await open(collection)
    }

    /// Moves to the collection's own place what is absent there, before it is read. A conflict waits for a sweep.
    /// - Returns: The older records that cannot be read.
    /// - Throws: ``StorageError`` when it is not known what a legacy location holds.
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
