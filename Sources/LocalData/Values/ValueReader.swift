import BackendContract
import Synchronization

/// Reads the values of keys. A value that is still at a legacy location is migrated first.
struct ValueReader: EnginePart, Sendable {
    let engine: Engine

    /// A value and the record that holds it; both nil when the value is absent.
    struct Reading<Value: Sendable>: Sendable {
        var record: StorageRecord?
        var value: Value?
    }

    /// Why a read that does not wait has no value. It is an error, because code that names an optional value looks up the metadata of that
    /// type in each call.
    enum Unread: Error {
        /// The value is absent.
        case absent
        /// Ask ``read(_:_:seen:)``.
        /// - Parameter seen: The content of the key's slot, if it was known at once.
        case unanswered(seen: StorageProbe?)
    }

    /// Reads the value of a key on the calling thread, without waiting. It answers only if the slot has a value in the
    /// key's format, or none. ``read(_:_:seen:)`` answers in all other cases.
    /// Reason: "A read that needs no waiting stays on its thread" in Docs/Decisions/LocksAndCommits.md.
    func immediateRead<Value>(_ key: StorageKey<Value>, _ route: Route) throws(Unread) -> Value {
        let isPlain = key.isReadInPlace && route.isPlain && !slots.routes.mayHavePolicies
        guard isPlain, let store = route.immediate else { throw .unanswered(seen: nil) }
        let moment = slots.routes.moment(of: store)
        guard let seen = route.immediateProbe() else { throw .unanswered(seen: nil) }
        switch seen {
        case .value(let record):
            guard record.metadata.expiresAt == nil else { throw .unanswered(seen: seen) }
            let value: Value
            do { value = try coder.immediateValue(record, key) } catch { throw .unanswered(seen: seen) }
            if let moment { remember(record, of: key, at: moment, in: store) }
            return value
        case .tombstone: break
        case .absent where !key.hasMigration: break
        case .absent, .corrupt, .locked, .unavailable: throw .unanswered(seen: seen)
        }
        if let moment { remember(nil, of: key, at: moment, in: store) }
        throw .absent
    }

    /// Lets a key remember its value when it is read the second time.
    @inline(never) private func remember<Value>(
        _ record: StorageRecord?, of key: StorageKey<Value>, at moment: ReadMoment, in store: any ImmediateBackend
    ) {
        guard key.memory.isSecondRead(at: moment) else { return }
        let value = record.flatMap { try? coder.immediateValue($0, key) }
        // Two callers must not share an object that one of them can change.
        guard (value ?? key.defaultValue).map(ValueParts.canBeRemembered) ?? true else { return }
        slots.routes.gate.remembering.remember(RememberedValue(value, default: key.defaultValue, at: moment, in: store), in: key.memory)
    }

    /// Reads the current value of a key, and migrates it if it is at a legacy location.
    /// - Parameter seen: The content of the key's slot a moment ago; nil if it must be read.
    @concurrent
    func read<Value>(_ slot: Slot<Value>, seen: StorageProbe? = nil) async throws -> Reading<Value> {
        // Most values are in the slot of their key, and the read writes nothing.
        var seen = seen
        if slot.key.isReadInPlace {
            let look = if let seen { seen } else { try await slot.route.look() }
            if let found = try await readInPlace(slot, isSettled: false, seen: look) { return found }
            seen = look
        }
        return try await readWritten(slot, seen: seen, isWholeCall: !slots.lanes.isInChain)
    }

    /// The current value of a key for an update, with the error of a migration that a full or read-only store kept from being written.
    /// - Parameter ifUnwritten: Reads the value after that error.
    func readForUpdate<Value>(
        _ slot: Slot<Value>, _ ifUnwritten: (any Error) async throws -> Reading<Value>
    ) async throws -> (Reading<Value>, unwritten: (any Error)?) {
        do { return (try await readWritten(slot), nil) } catch { return (try await ifUnwritten(error), error) }
    }

    /// Reads the current value of a key. Fails if a migration cannot write its result.
    /// - Parameters:
    ///   - seen: The content of the key's slot a moment ago, if it does not answer the read; nil if it must be read.
    ///   - isWholeCall: Whether the read is all that the caller asked for: then the outcome in an error is that of its migrations.
    @concurrent
    func readWritten<Value>(_ slot: Slot<Value>, seen: StorageProbe? = nil, isWholeCall: Bool = false) async throws -> Reading<Value> {
        if slot.key.membership != nil { try await slots.lists.prepare(slot.key) }
        if seen == nil, let found = try await readInPlace(slot, isSettled: false) { return found }
        if slots.lanes.isHeldByCurrentChain(slot.id) { return try await readInPlace(slot, isSettled: true) ?? Reading() }
        var run = try await migrate(slot, wasAbsent: seen == .absent)
        if run.state == .absent { return Reading() }
        if run.state == nil {
            // Another caller's run may have read the legacy locations before this call began. The next run begins after it.
            let found = try await reading(slot, after: isWholeCall ? run.outcome : .notApplied) {
                try await readInPlace(slot, isSettled: false)
            }
            if let found { return found }
            run = try await migrate(slot)
        }
        return try await reading(slot, after: isWholeCall ? run.outcome : .notApplied) {
            try await readInPlace(slot, isSettled: true) ?? Reading()
        }
    }

    /// Reads a slot after its migrations, and says in an error what they did.
    private func reading<Value, R>(_ slot: Slot<Value>, after outcome: MutationOutcome, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError where outcome != .notApplied && error.outcome == .notApplied {
            let what = outcome == .applied ? "was brought to" : "may have been brought to"
            throw StorageError(
                error.code, key: slot.name,
                "The value \(what) \(slot.route.domain), and could not be read there afterwards (\(error.code)). Read it again.",
                outcome: outcome, underlying: error)
        }
    }

    /// Reads the slot of the key.
    /// - Parameters:
    ///   - isSettled: Whether migrations and chains have run, so that the content of the slot is the answer.
    ///   - known: The content of the slot a moment ago; nil if it must be read.
    /// - Returns: The value, or its absence; nil when migrations or a chain have to run first.
    private func readInPlace<Value>(_ slot: Slot<Value>, isSettled: Bool, seen known: StorageProbe? = nil) async throws -> Reading<Value>? {
        let seen: StorageProbe = if let known { known } else { try await slot.route.look() }
        // A sealed value is verified when it is decoded. Any other content is verified now.
        // Reason: "A read opens the value in its slot only once" in Docs/Decisions/Sealing.md.
        let probe = slot.route.judge == nil || coder.isProvenByReading(seen, slot) ? seen : try await slot.route.judged(seen)
        // A write of an earlier release to the legacy location is migrated first.
        if !isSettled, slot.key.releaseWindow != nil, try await !mirroredLocations.decides(probe, slot.untyped) { return nil }
        switch probe {
        // Reason: "An expired value is absent, but its slot is not empty" in Docs/Decisions/Expiry.md.
        case .value(let record):
            // An expired value is absent, and no older copy replaces it.
            if record.metadata.expiresAt != nil, record.metadata.isExpired(at: coder.now) { return Reading() }
            // A chain runs where its result is written.
            if slot.key.evolution != nil, !isSettled, coder.isOutdated(record.metadata, slot.key) { return nil }
            do {
                let decoded = try await coder.read(record, slot)
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

    /// A run of a key's migrations.
    private struct Run {
        /// The result of the run; nil if another caller began it.
        let state: MigrationReport.State?

        /// Whether the run changed anything.
        var outcome: MutationOutcome {
            switch state {
            case nil: .unknown
            case .unchanged, .absent, .removed, .expired: .notApplied
            default: .applied
            }
        }
    }

    /// Runs the key's migrations, once for all callers that ask at the same time.
    private func migrate<Value>(_ slot: Slot<Value>, wasAbsent: Bool = false) async throws -> Run {
        if slots.lanes.isInChain {
            // A migration's own reads wait in the lanes, where a circle is noticed, and never in another call's flight.
            return Run(state: try await settle(slot, wasAbsent))
        }
        let noted = NotedState()
        // The flight may outlive this call, and needs the object that custom migrations receive.
        let receiver = program.receiver
        try await slots.flights.join(Flights.Work(slot)) { [self] in
            defer { withExtendedLifetime(receiver) {} }
            let state = try await settle(slot, wasAbsent)
            noted.state.withLock { $0 = state }
            await history.ledger.flush()
        }
        return Run(state: noted.state.withLock(\.self))
    }

    /// The result of a flight, for the caller who began it.
    private final class NotedState: Sendable {
        let state = Mutex<MigrationReport.State?>(nil)
    }

    private func settle<Value>(_ slot: Slot<Value>, _ wasAbsent: Bool) async throws -> MigrationReport.State {
        try await slots.withLane(slot.route) { try await settleHoldingLane(slot, wasAbsent: wasAbsent) }
    }

    /// Migrates and converts a value. The caller holds the lane of its slot.
    /// - Parameter wasAbsent: Whether a read of the slot found no value a moment ago.
    @discardableResult
    func settleHoldingLane<Value>(_ slot: Slot<Value>, wasAbsent: Bool = false) async throws -> MigrationReport.State {
        // A custom migration, and one that keeps its sources, runs only after a read of the slot within the lane, because
        // another task may just have run it.
        let isRepeatable =
            slot.route.judge == nil && slot.key.migrations.allSatisfy { $0.step(for: Value.self).map { !$0.keepsSources } ?? false }
        return try await MoveExecutor.$patience.withValue(MoveExecutor.patienceOfReads) {
            try await Settler(engine: engine).settle(
                slot, await program.run(.read, slot.id), wasAbsent: wasAbsent && isRepeatable
            ).state
        }
    }

    /// Migrates and converts a value. The caller holds the lane of its slot.
    /// - Parameter ifUnwritten: Reads the value after an error of its migration.
    /// - Returns: Nil. If a full or read-only store refuses the write, the value that would have been written.
    func settleOrRead<Value>(
        _ slot: Slot<Value>, _ ifUnwritten: (any Error) async throws -> Reading<Value>
    ) async throws -> (Reading<Value>, any Error)? {
        guard slot.key.mayBeOutdated else { return nil }
        do { try await settleHoldingLane(slot) } catch { return (try await ifUnwritten(error), error) }
        return nil
    }

    /// Reads the content of a key's slot with its metadata, also an expired value. Legacy locations are read only if a
    /// release window keeps them up to date.
    func stored<Value>(_ slot: Slot<Value>) async throws -> StoredValue<Value>? {
        try await slots.retrying(slot.name) { () -> StoredValue<Value>?? in
            guard let record = try await record(slot) else { return .some(nil) }
            let value = try await coder.read(record, slot).value
            return StoredValue(id: slot.name, value: value, record.metadata, isExpired: coder.isExpired(record))
        }
    }

    /// Whether the slot of a key has a value. Legacy locations are read only if a release window keeps them up to date.
    func exists<Value>(_ slot: Slot<Value>) async throws -> Bool { try await record(slot).map { !coder.isExpired($0) } ?? false }

    /// Reads the value of a slot, possibly from a copy of the store that is behind. Migrates and writes nothing.
    /// - Parameter limit: The age that the result may have.
    func stale<Value>(_ slot: Slot<Value>, upTo limit: Duration) async throws -> Value? {
        // The records of presence may be ahead of the copy.
        let probe = try await slot.route.overridingWitness.probe(.stale(upTo: limit))
        if case .corrupt(let corruption) = probe { throw slot.route.corrupted(corruption) }
        guard let record = probe.record, !coder.isExpired(record) else { return nil }
        return try await coder.read(record, slot).value
    }

    private func record<Value>(_ slot: Slot<Value>) async throws -> StorageRecord? {
        try await slots.lists.prepare(slot.key)
        var probe = try await slot.route.probe()
        if slot.key.releaseWindow != nil, try await !mirroredLocations.decides(probe, slot.untyped) {
            if !slots.lanes.isHeldByCurrentChain(slot.id) { _ = try await migrate(slot) }
            probe = try await slot.route.probe()
        }
        if case .corrupt(let corruption) = probe { throw slot.route.corrupted(corruption) }
        return probe.record
    }
}

extension EnginePart {
    var valueReader: ValueReader { ValueReader(engine: engine) }
    var valueWriter: ValueWriter { ValueWriter(engine: engine) }
    var valueWatcher: ValueWatcher { ValueWatcher(engine: engine) }
    var batchWriter: BatchWriter { BatchWriter(engine: engine) }
}
