import BackendContract

/// A place from which a collection's records are brought, all of them at once.
protocol RecordSource<Record>: Sendable {
    associatedtype Record: Codable & Sendable

    /// Makes sure that each record can be found by its id.
    func prepare(
        for collection: StorageCollection<Record>, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork

    /// Makes every record and writes none.
    /// - Throws: ``StorageError`` naming the first record that cannot be brought.
    func validate(for collection: StorageCollection<Record>, _ engine: MigrationEngine) async throws

    /// Brings every record that is still there.
    func bring(to collection: StorageCollection<Record>, _ engine: MigrationEngine, _ context: MigrationContext) async throws -> RecordWork

    /// The name of the move in the ledger.
    func id(for collection: StorageCollection<Record>) -> String

    /// How many values are still there.
    func pending(for collection: StorageCollection<Record>, _ engine: MigrationEngine) async throws -> Int
}

/// What was done with a collection's records.
struct RecordWork: Sendable {
    /// Brought from an older place.
    var moved = 0
    /// Given a new shape in their place.
    var converted = 0
    /// Removed, since their lifetime was over.
    var expired = 0
    /// Older copies that were removed, or conflicts that were resolved.
    var reconciled = 0
    var bytes = 0
    var residue: [String] = []
    /// What failed, by the record's id.
    var failures: [(id: String, error: StorageError)] = []

    static func += (left: inout RecordWork, right: RecordWork) {
        left.moved += right.moved
        left.converted += right.converted
        left.expired += right.expired
        left.reconciled += right.reconciled
        left.bytes += right.bytes
        left.residue += right.residue
        left.failures += right.failures
    }

    /// Counts what a visit of a single record did.
    mutating func count(_ visit: MigrationEngine.Visit) {
        switch visit.state {
        case .moved: moved += 1
        case .converted: converted += 1
        case .expired: expired += 1
        case .collected, .resolved: reconciled += 1
        default: break
        }
        bytes += visit.bytes
        residue += visit.residue
    }

    mutating func fail(_ id: String, _ error: any Error) throws {
        guard let error = error as? StorageError else { throw error }
        failures.append((id, error))
    }
}

/// An older collection.
struct CollectionSource<Source: Codable & Sendable, Record: Codable & Sendable>: RecordSource {
    let source: StorageCollection<Source>
    let options: MigrationOptions
    let transform: @Sendable (Source) throws -> Record

    init(
        _ source: StorageCollection<Source>, _ options: MigrationOptions, _ transform: @escaping @Sendable (Source) throws -> Record
    ) {
        self.source = source
        self.options = options
        self.transform = transform
    }

    func prepare(
        for collection: StorageCollection<Record>, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork {
        try await engine.prepare(source, context)
    }

    func id(for collection: StorageCollection<Record>) -> String { "\(collection.name):moved:\(source.domain)/\(source.name)" }

    func bring(
        to collection: StorageCollection<Record>, _ engine: MigrationEngine, _ context: MigrationContext
    ) async throws -> RecordWork {
        var work = try await engine.gather(source, context)
        work += try await mover(to: collection, engine).moveAll(context)
        return work
    }

    func validate(for collection: StorageCollection<Record>, _ engine: MigrationEngine) async throws {
        try await mover(to: collection, engine).validate()
    }

    private func mover(to collection: StorageCollection<Record>, _ engine: MigrationEngine) -> RecordMover<Source, Record> {
        RecordMover(engine: engine, source: source, destination: collection, options: options, transform: transform)
    }

    func pending(for collection: StorageCollection<Record>, _ engine: MigrationEngine) async throws -> Int {
        try await engine.count(source, .all) + engine.pending(source)
    }
}
