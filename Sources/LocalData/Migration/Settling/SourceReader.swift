import BackendContract

/// Reads the sources of a migration, each after its own migrations.
struct SourceReader: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var settler: Settler { Settler(slots, coder, history, program) }

    /// A source that was read, opened and decoded.
    struct Reading: Sendable {
        let source: SourceRecord
        let value: any Sendable
        /// Whether it is the destination's own slot, in an older shape.
        let isInPlace: Bool
    }

    /// What a source holds.
    enum Probe: Sendable {
        case value(Reading)
        case absent
        case removed
    }

    /// Reads a source for a destination that holds nothing usable.
    /// - Parameter keeps: Whether the source keeps its value, also one that has expired.
    func read<Key: TypedKey>(
        _ source: Key, for destination: UntypedSlot, _ occupant: Mover.Occupant, _ options: MigrationOptions, _ run: MigrationRun,
        keeps: Bool
    ) async throws -> Probe {
        let slot = try slots.routes.slot(for: source.typed)
        if slot.id == destination.id { return try await readInPlace(slot, occupant) }
        let skips = options.whenSourceUnavailable == .skip
        switch try await readSettled(slot, skips, run) {
        case .value(let record) where coder.isExpired(record):
            // A sweep purges it in its place, in time.
            if run.reason != .read, !keeps { _ = try await Purger(slots, coder, history).purge(record, slot.untyped) }
            return .removed
        case .value(let record):
            do {
                return .value(
                    Reading(source: SourceRecord(slot, record), value: try await coder.read(record, slot).value, isInPlace: false))
            } catch let error as StorageError where error.meansUndecodable {
                throw StorageError(
                    StorageError.migrationFailed, key: destination.name,
                    "The older value \(slot.name) in \(slot.route.domain) cannot be read as its key describes it. It is left as it is. \(error.message)",
                    underlying: error)
            }
        case .absent: return .absent
        case .tombstone: return .removed
        case .locked: throw StorageError.locked(slot.name, slot.route.domain)
        case .unavailable(let error):
            if skips { return .absent }
            throw StorageError.from(error, key: slot.name)
        case .corrupt(let corruption): throw slot.route.corrupted(corruption)
        }
    }

    /// Reads a source once its own migrations have run. A value that was there then and is gone now was deleted in between: what its own sources hold counts again.
    private func readSettled<Value>(_ slot: Slot<Value>, _ skips: Bool, _ run: MigrationRun) async throws -> StorageProbe {
        guard slot.key.hasMigration, !slots.lanes.isHeldByCurrentChain(slot.id) else { return try await slot.route.read() }
        for await _ in slots.attempts {
            let state: MigrationReport.State
            do {
                state = try await slots.withLane(slot.route) {
                    try await settler.settle(slot, await program.run(.read, slot.id, within: run)).state
                }
            } catch StorageError.unavailable where skips { return .absent }
            let probe = try await slot.route.read()
            if case .absent = probe, state != .absent { continue }
            return probe
        }
        throw slot.route.error(for: .notAttempted)
    }

    private func readInPlace<Value>(_ slot: Slot<Value>, _ occupant: Mover.Occupant) async throws -> Probe {
        // As the source sees it: what the destination's seal does not prove, it may not show.
        switch (occupant, try await slot.route.read()) {
        case (.corrupt(let corruption), .tombstone(let tombstone)) where tombstone.revision == corruption.revision: return .removed
        case (.undecodable(let record, _), .value(let own)) where own.revision == record.revision: return try await readInPlace(own, slot)
        default: return .absent
        }
    }

    private func readInPlace<Value>(_ record: StorageRecord, _ slot: Slot<Value>) async throws -> Probe {
        do {
            return .value(Reading(source: SourceRecord(slot, record), value: try await coder.decode(record, slot), isInPlace: true))
        } catch let error as StorageError where error.meansUndecodable { return .absent }
    }

    /// Reads a source that is compared with a settled destination: one that does not decode still counts, as bytes.
    func readOther<Key: TypedKey>(
        _ source: Key, _ options: MigrationOptions, _ run: MigrationRun
    ) async throws -> (record: StorageRecord, value: (any Sendable)?)? {
        let slot = try slots.routes.slot(for: source.typed)
        if slot.key.hasMigration, !slots.lanes.isHeldByCurrentChain(slot.id) {
            do {
                try await slots.withLane(slot.route) {
                    // A sweep clears the legacy locations of the legacy location, too.
                    _ = try await settler.settle(slot, await program.run(run.reason, slot.id, within: run))
                }
            } catch let error as StorageError where error.meansUndecodable || error.code == StorageError.migrationFailed {
                // It is there and cannot be read: compared as bytes below.
            }
        }
        switch try await slot.route.read() {
        case .value(let record):
            do { return (record, try await coder.read(record, slot).value) } catch let error as StorageError
                where error.meansUndecodable
            { return (record, nil) }
        case .absent, .tombstone: return nil
        case .locked: throw StorageError.locked(slot.name, slot.route.domain)
        case .unavailable(let error):
            if options.whenSourceUnavailable == .skip { return nil }
            throw StorageError.from(error, key: slot.name)
        case .corrupt(let corruption): throw slot.route.corrupted(corruption)
        }
    }
}
