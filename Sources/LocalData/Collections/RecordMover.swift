import BackendContract
import BackendRuntime

/// Moves records from one collection to another, a page at a time: in one commit where nothing stands in their way, and else one by one, as a single key's value would be.
///
/// The order is that of every move: the new records are durable and read back before the old ones go. A run that was killed goes on where it was.
struct RecordMover<Source: Codable & Sendable, Record: Codable & Sendable>: Sendable {
    let engine: MigrationEngine
    let source: StorageCollection<Source>
    let destination: StorageCollection<Record>
    let options: MigrationOptions
    let transform: @Sendable (Source) throws -> Record

    private struct Candidate: Sendable {
        let key: StorageKey<Record>
        let route: Route
        let copy: SourceRecord
        let value: Record
    }

    func moveAll(_ context: MigrationContext) async throws -> RecordWork {
        var work = RecordWork()
        for try await page in engine.pages(source, .all) {
            try Task.checkCancellation()
            work += try await engine.unbroken { try await move(page, context) }
        }
        if work.moved > 0 { engine.ledger.worked("\(destination.name):moved:\(source.domain)/\(source.name)") }
        return work
    }

    /// Every record as it would be in its new place.
    /// - Throws: ``StorageError`` naming the first record that cannot be moved.
    func validate() async throws {
        for try await page in engine.pages(source, .all) {
            for entry in page { _ = try await candidate(entry) }
        }
    }

    private func candidate(_ entry: StoragePage.Entry) async throws -> Candidate? {
        let sourceKey = source.key(entry.address.name)
        let sourceRoute = try engine.routes.route(for: sourceKey)
        guard let record = entry.record else { throw sourceRoute.damaged(entry) }
        if record.metadata.isExpired(at: engine.runtime.clock.wallSeconds) { return nil }
        let old = try await engine.records.decode(record, sourceKey, sourceRoute)
        let key = destination.key(entry.address.name)
        let value = try await engine.wrappingUserErrors(key) { try transform(old) }
        return Candidate(
            key: key, route: try engine.routes.route(for: key),
            copy: SourceRecord(key: .key(sourceKey), route: sourceRoute, record: record), value: value)
    }

    /// Removes an expired record where it stands.
    private func purge(_ record: StorageRecord, _ id: String) async throws -> Bool {
        let key = source.key(id)
        return try await engine.purge(record, key, try engine.routes.route(for: key))
    }

    private func move(_ page: [StoragePage.Entry], _ context: MigrationContext) async throws -> RecordWork {
        var work = RecordWork()
        var candidates: [Candidate] = []
        for entry in page {
            do {
                if let candidate = try await candidate(entry) {
                    candidates.append(candidate)
                } else if context.reason != .read, let record = entry.record, try await purge(record, entry.address.name) {
                    work.expired += 1
                }
            } catch { try work.fail(entry.address.name, error) }
        }
        guard let first = candidates.first else { return work }
        let step = MigrationStep<Record>(
            id: "\(destination.name):moved:\(source.domain)/\(source.name)", sources: [first.copy.key], isAggregating: false,
            options: options
        ) { _ in nil }
        try engine.checkProtection(step, first.key, first.route)
        var single = candidates
        if first.route.capabilities.atomicBatch {
            single = try await engine.lanes.withLanes(candidates.map(\.route.slot), keyName: destination.name) {
                try await moveTogether(candidates, step.id, &work)
            }
        }
        for candidate in single {
            do {
                let visit = try await engine.lanes.withLane(candidate.route.slot, keyName: candidate.key.name) {
                    try await engine.settle(candidate.key, candidate.route, context.sweeping)
                }
                work.count(visit)
            } catch { try work.fail(candidate.key.name, error) }
        }
        return work
    }

    /// Moves the records whose place is empty, in one commit.
    /// - Returns: Those that have to be looked at one by one.
    private func moveTogether(_ candidates: [Candidate], _ id: String, _ work: inout RecordWork) async throws -> [Candidate] {
        guard let backend = candidates.first?.route.backend else { return [] }
        let standing = try await engine.probes(candidates.map(\.route), in: backend)
        var free: [Candidate] = []
        var rest: [Candidate] = []
        for (candidate, probe) in zip(candidates, standing) {
            if case .absent = probe { free.append(candidate) } else { rest.append(candidate) }
        }
        if free.isEmpty { return rest }
        var mutations: [StorageMutation] = []
        for candidate in free {
            let origin = try await engine.origin(of: [candidate.copy], migration: id, candidate.route)
            let references = ReferenceCollector()
            let (payload, metadata) = try await engine.records.encode(
                candidate.value, candidate.key, candidate.route, origin: origin,
                engine.carriedFacts(from: [candidate.copy.record.metadata]),
                references)
            try await engine.store(
                references,
                for: ReferenceHolder(
                    route: candidate.route, copies: [candidate.copy], allowsWeakerProtection: options.allowsWeakerProtection))
            mutations.append(.put(payload, metadata, at: candidate.route.address, if: .absent))
        }
        if !engine.safeguards.contains(.destinationFirst) {
            _ = try await engine.collectTogether(free.map(\.copy), for: free.map(\.route), achieved: .durable)
        }
        guard let achieved = try await engine.write(mutations, at: free.map(\.route), in: backend) else { return candidates }
        work.moved += free.count
        work.bytes += mutations.reduce(0) { $0 + $1.payloadSize }
        work.residue += try await engine.collectTogether(free.map(\.copy), for: free.map(\.route), achieved: achieved)
        return rest
    }
}

extension MigrationContext {
    /// The same run, comparing what older places hold with what is there already.
    var sweeping: MigrationContext {
        reason == .read
            ? MigrationContext(
                applicationID: applicationID, applicationVersion: applicationVersion, previousVersion: previousVersion, reason: .sweep,
                router: router) : self
    }
}

extension StorageMutation {
    var payloadSize: Int { if case .put(let payload, _) = operation { payload.byteCount } else { 0 } }
}

extension Route {
    /// The error of a slot of a page that holds bytes which are not a record.
    func damaged(_ entry: StoragePage.Entry) -> StorageError {
        corrupted(entry.corruption ?? StorageCorruption(bytes: [], revision: nil, reason: "it is not a record"))
    }
}
