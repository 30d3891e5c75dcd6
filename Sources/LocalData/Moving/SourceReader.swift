import BackendContract

/// Reads the sources of a migration, and first settles those that have migrations.
struct SourceReader: EnginePart, Sendable {
    let engine: Engine

    /// A source whose record was read, unsealed and decoded.
    struct Reading: Sendable {
        let source: SourceRecord
        let value: any Sendable
        /// Whether the source and the destination have the same slot. The record then has an earlier form.
        let isInPlace: Bool
    }

    /// The result of reading a source.
    enum Probe: Sendable {
        case value(Reading)
        case absent
        case removed
    }

    /// Reads a source for a destination that contains no usable value.
    /// - Parameter keeps: Whether the migration copies the value of the source. An expired value of the source is then not purged.
    func read<Key: TypedKey>(
        _ source: Key, for destination: UntypedSlot, _ occupant: Mover.Occupant, _ options: MigrationOptions, _ run: MigrationRun,
        keeps: Bool
    ) async throws -> Probe {
        let slot = try slots.routes.slot(for: source.typed)
        if slot.id == destination.id { return try await readInPlace(slot, occupant) }
        let skips = options.whenSourceUnavailable == .skip
        guard let probe = try await readSettled(slot, skips, run) else { return .removed }
        switch probe {
        case .value(let record) where coder.isExpired(record):
            // Unless this is a read, purge the expired value. The purger waits until a day after a sweep found the value expired.
            if run.reason != .read, !keeps { _ = try await Purger(engine: engine).purge(record, slot.untyped) }
            return .removed
        case .value(let record):
            do {
                return .value(
                    Reading(source: SourceRecord(slot, record), value: try await coder.read(record, slot).value, isInPlace: false))
            } catch let error as StorageError where error.meansUndecodable {
                throw StorageError(
                    StorageError.migrationFailed, key: destination.name,
                    "The value of the source \(slot.name) in \(slot.route.domain) cannot be decoded. It is unchanged. \(error.message)",
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

    /// Settles a source that has migrations, then reads it. If the source had a value when it was settled but is absent in the read, its
    /// record was deleted in between. Then the sources of this source count again, so both steps are repeated.
    /// - Returns: The content; nil if the source is absent because its own migrations found that the value was removed or has expired.
    private func readSettled<Value>(_ slot: Slot<Value>, _ skips: Bool, _ run: MigrationRun) async throws -> StorageProbe? {
        for await _ in slots.attempts {
            let visit: Visit?
            do {
                visit = try await settler.settleSource(slot.key, at: slot.route, within: run)
            } catch StorageError.unavailable where skips {
                return try await slot.route.read()
            }
            let probe = try await slot.route.read()
            guard case .absent = probe else { return probe }
            switch visit?.state {
            case nil, .absent: return probe
            case .removed, .expired: return nil
            default: continue
            }
        }
        throw slot.route.error(for: .notAttempted)
    }

    private func readInPlace<Value>(_ slot: Slot<Value>, _ occupant: Mover.Occupant) async throws -> Probe {
        // This read uses the key of the source: the destination may reject a tombstone or a record that is valid for the source. The result
        // counts only if the slot still has the revision that was read for the destination.
        switch (occupant, try await slot.route.read()) {
        case (.corrupt(let corruption), .tombstone(let tombstone)) where tombstone.revision == corruption.revision: return .removed
        case (.undecodable(let record, _), .value(let own)) where own.revision == record.revision:
            do {
                return .value(Reading(source: SourceRecord(slot, own), value: try await coder.decode(own, slot), isInPlace: true))
            } catch let error as StorageError where error.meansUndecodable { return .absent }
        default: return .absent
        }
    }

    /// Reads a source to compare it with a settled destination.
    /// - Returns: The record and its value. The value is nil if the record does not decode; the result is nil if the source has no record.
    func readOther<Key: TypedKey>(
        _ source: Key, _ options: MigrationOptions, _ run: MigrationRun
    ) async throws -> (record: StorageRecord, value: (any Sendable)?)? {
        let slot = try slots.routes.slot(for: source.typed)
        do { _ = try await settler.settleSource(slot.key, at: slot.route, within: run) } catch let error as StorageError {
            // The source cannot be settled. The read below returns its record, without a value if it does not decode.
            guard error.meansUndecodable || error.code == StorageError.migrationFailed else { throw error }
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
