import BackendContract
import Synchronization

/// Reads values: from their place, or from where they used to be.
struct ValueReader: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// A value and the record that holds it; both nil when the value is absent.
    struct Reading<Value: Sendable>: Sendable {
        var record: StorageRecord?
        var value: Value?
    }

    /// What a look that waits for nothing tells of a key.
    enum Immediate<Value: Sendable>: Sendable {
        /// The value; nil when it is absent.
        case answer(Value?)
        /// Ask ``read(_:_:seen:)``.
        /// - Parameter seen: What the key's place held, where that was known at once.
        case unanswered(seen: StorageProbe?)
    }

    /// The value of a key that is in its place as the key says, where the store can tell at once: without waiting, and without another thread. All
    /// that has to be brought over, opened, judged or explained is left to ``read(_:_:seen:)``.
    /// Reason: "A read that needs no waiting stays on its thread" in Docs/Decisions/LocksAndCommits.md.
    func immediateRead<Value>(_ key: StorageKey<Value>, _ route: Route) -> Immediate<Value> {
        guard key.membership == nil, key.releaseWindow == nil, route.judge == nil, !env.routes.mayHavePolicies,
            let seen = route.immediateProbe()
        else { return .unanswered(seen: nil) }
        switch seen {
        case .value(let record):
            if record.metadata.expiresAt == nil, let value = env.coder.immediateValue(record, key) { return .answer(value) }
        case .tombstone: return .answer(nil)
        case .absent where !key.hasMigration: return .answer(nil)
        case .absent, .corrupt, .locked, .unavailable: break
        }
        return .unanswered(seen: seen)
    }

    /// The current value of a key: from its place, or from where it used to be, also when it cannot be written to its place now.
    /// - Parameters:
    ///   - seen: What its place held a moment ago; nil to look.
    @concurrent
    func read<Value>(_ slot: Slot<Value>, _ host: any MigrationHost, seen: StorageProbe? = nil) async throws -> Reading<Value> {
        // Most values are in their place, and nothing is written to answer.
        let isPlain = slot.key.membership == nil && slot.key.releaseWindow == nil
        if isPlain, let found = try await readInPlace(slot, isSettled: false, seen: seen) { return found }
        do { return try await readWritten(slot, host, hasLooked: isPlain, isWholeCall: !env.lanes.isInChain) } catch {
            return try await rehearsed(slot, host, after: error) { try await $0.readWritten($1, $2) }
        }
    }

    /// The current value of a key for an update, with the error of a migration that a full or read-only store kept from being written.
    func readForUpdate<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> (Reading<Value>, unwritten: (any Error)?) {
        do { return (try await readWritten(slot, host), nil) } catch {
            return (try await rehearsed(slot, host, after: error) { try await $0.readWritten($1, $2) }, error)
        }
    }

    /// The current value of a key, in its place: what its migrations make of it is written, or this fails.
    /// - Parameters:
    ///   - hasLooked: Whether its place was read, and migrations or a chain have to run.
    ///   - isWholeCall: Whether the read is all that the caller asked for: then the outcome in an error is that of its migrations.
    func readWritten<Value>(
        _ slot: Slot<Value>, _ host: any MigrationHost, hasLooked: Bool = false, isWholeCall: Bool = false
    ) async throws -> Reading<Value> {
        if slot.key.membership != nil { try await env.prepare(slot.key, host) }
        if !hasLooked, let found = try await readInPlace(slot, isSettled: false) { return found }
        let outcome = env.lanes.isHeldByCurrentChain(slot.id) ? .notApplied : try await migrate(slot, host)
        return try await reading(slot, after: isWholeCall ? outcome : .notApplied) {
            try await readInPlace(slot, isSettled: true) ?? Reading()
        }
    }

    /// Reads a slot after its migrations, and says in an error what they did.
    private func reading<Value, R>(
        _ slot: Slot<Value>, after outcome: MutationOutcome, _ body: () async throws -> R
    ) async throws -> R {
        do { return try await body() } catch let error as StorageError where outcome != .notApplied && error.outcome == .notApplied {
            let what = outcome == .applied ? "was brought to" : "may have been brought to"
            throw StorageError(
                error.code, key: slot.name,
                "The value \(what) \(slot.route.domain), and could not be read there afterwards (\(error.code)). Read it again.",
                outcome: outcome, underlying: error)
        }
    }

    /// Answers a read; see ``rehearsed(_:_:after:_:)``.
    private func answering<Value, R>(
        _ slot: Slot<Value>, _ host: any MigrationHost,
        _ read: (ValueReader, Slot<Value>, any MigrationHost) async throws -> R
    ) async throws -> R {
        do { return try await read(self, slot, host) } catch { return try await rehearsed(slot, host, after: error, read) }
    }

    /// Repeats a read in a rehearsal, which looks at the destination again first, where a full or read-only store kept migrations from being written: the value is there and can be
    /// read, and stays where it is until it can be written.
    /// - Throws: As ``Environment/rehearsing(_:after:_:_:)``.
    private func rehearsed<Value, R>(
        _ slot: Slot<Value>, _ host: any MigrationHost, after error: any Error,
        _ read: (ValueReader, Slot<Value>, any MigrationHost) async throws -> R
    ) async throws -> R {
        try await env.rehearsing(slot.name, after: error, host) { rehearsal in
            try await read(ValueReader(rehearsal.env), try rehearsal.env.routes.slot(for: slot.key), rehearsal)
        }
    }

    /// Reads the key's own place.
    /// - Parameters:
    ///   - isSettled: Whether migrations and chains have run: what is found then is the answer.
    ///   - known: What was found there a moment ago; nil to look.
    /// - Returns: The value, or its absence; nil when migrations or a chain have to run first.
    private func readInPlace<Value>(_ slot: Slot<Value>, isSettled: Bool, seen known: StorageProbe? = nil) async throws -> Reading<Value>? {
        let seen: StorageProbe = if let known { known } else { try await slot.route.look() }
        // Opening the value proves what stands beside it; anything else is proven before it is believed.
        // Reason: "A read opens the value in its slot only once" in Docs/Decisions/Sealing.md.
        let probe = slot.route.judge == nil || env.coder.isProvenByReading(seen, slot) ? seen : try await slot.route.judged(seen)
        // What an earlier release wrote in an older place that is kept up to date is brought over first.
        if !isSettled, slot.key.releaseWindow != nil, try await !MirroredLocations(env).decides(probe, slot.untyped) { return nil }
        switch probe {
        // Reason: "An expired value is absent, but its slot is not empty" in Docs/Decisions/Expiry.md.
        case .value(let record):
            // An expired value is absent, and no older copy takes its place.
            if record.metadata.expiresAt != nil, record.metadata.isExpired(at: env.now) { return Reading() }
            // A chain runs where its result is written.
            if slot.key.evolution != nil, !isSettled, env.coder.isOutdated(record.metadata, slot.key) { return nil }
            do {
                let decoded = try await env.coder.read(record, slot)
                return decoded.isOutdated && !isSettled ? nil : Reading(record: record, value: decoded.value)
            } catch let error as StorageError {
                guard slot.key.hasMigration, !isSettled, error.meansUndecodable else { throw error }
                return nil
            }
        case .tombstone: return Reading()
        case .absent: return slot.key.hasMigration && !isSettled ? nil : Reading()
        case .corrupt(let corruption):
            guard slot.key.hasMigration, !isSettled else { throw slot.route.corrupted(corruption) }
            return nil
        case .locked: throw StorageError.locked(slot.name, slot.route.domain)
        case .unavailable(let error): throw StorageError.from(error, key: slot.name)
        }
    }

    /// Runs the key's migrations, once for all callers that ask at the same time.
    /// - Returns: Whether they changed anything. `unknown` for a caller who joined another caller's run.
    private func migrate<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> MutationOutcome {
        if env.lanes.isInChain {
            // A migration's own reads wait in the lanes, where a circle is noticed, and never in another call's flight.
            return try await settle(slot, host)
        }
        let noted = NotedOutcome()
        try await env.flights.join(Flights.Work(slot)) { [self] in
            let outcome = try await settle(slot, host)
            noted.outcome.withLock { $0 = outcome }
            await env.ledger.flush()
        }
        return noted.outcome.withLock(\.self)
    }

    /// The outcome of a flight, for the caller who began it.
    private final class NotedOutcome: Sendable {
        let outcome = Mutex(MutationOutcome.unknown)
    }

    private func settle<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> MutationOutcome {
        try await env.withLane(slot.route) { try await settleHoldingLane(slot, host) }
    }

    /// Brings a value to its place and shape while the lane of its slot is held.
    /// - Returns: Whether anything was changed.
    @discardableResult
    func settleHoldingLane<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> MutationOutcome {
        let visit = try await ResiduePurger.$patience.withValue(ResiduePurger.patienceOfReads) {
            try await Settler(env).settle(slot, await env.run(.read, slot.id, host))
        }
        return [.unchanged, .absent, .removed, .expired].contains(visit.state) ? .notApplied : .applied
    }

    /// Brings a value to its place and shape while the lane of its slot is held.
    /// - Returns: Nil; if a full or read-only store keeps it from being written, the value as it would have been.
    func settleOrRead<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> (Reading<Value>, any Error)? {
        guard slot.key.mayBeOutdated else { return nil }
        do { try await settleHoldingLane(slot, host) } catch {
            return (try await rehearsed(slot, host, after: error) { try await $0.readWritten($1, $2) }, error)
        }
        return nil
    }

    /// What a key's own place holds, with its metadata, also when it has expired. Legacy locations are not read, but for one that is kept up to date.
    func stored<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> StoredValue<Value>? {
        try await answering(slot, host) { reader, slot, host in
            try await reader.env.retrying(slot.name) { () -> StoredValue<Value>?? in
                guard let record = try await reader.record(slot, host) else { return .some(nil) }
                let value = try await reader.env.coder.read(record, slot).value
                return StoredValue(id: slot.name, value: value, record.metadata, isExpired: record.metadata.isExpired(at: env.now))
            }
        }
    }

    /// Whether a key's own place holds a value. Legacy locations are not read, but for one that is kept up to date.
    func exists<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> Bool {
        try await answering(slot, host) { reader, slot, host in
            try await reader.record(slot, host).map { !$0.metadata.isExpired(at: env.now) } ?? false
        }
    }

    private func record<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> StorageRecord? {
        try await env.prepare(slot.key, host)
        var probe = try await slot.route.probe()
        if slot.key.releaseWindow != nil, try await !MirroredLocations(env).decides(probe, slot.untyped) {
            if !env.lanes.isHeldByCurrentChain(slot.id) { _ = try await migrate(slot, host) }
            probe = try await slot.route.probe()
        }
        if case .corrupt(let corruption) = probe { throw slot.route.corrupted(corruption) }
        return probe.record
    }
}
