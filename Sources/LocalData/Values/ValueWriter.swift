import BackendContract

/// Sets, updates and removes single values.
struct ValueWriter: EnginePart, Sendable {
    let engine: Engine

    private var purger: Purger { Purger(engine: engine) }

    // MARK: Setting

    /// Stores a value. If the key has a migration, the record keeps its origin and also names the older copies that it replaces.
    func set<Value>(_ value: Value, _ slot: Slot<Value>, _ facts: WriteAttributes) async throws {
        try await slots.lists.prepare(slot.key)
        let slot = slot.overridingWitness
        let prepared = try valuePreparer.prepare(value, slot, facts)
        if prepared.references.isEmpty {
            try await slots.withLane(slot.route) { try await store(prepared, slot.untyped) }
        } else {
            try await batchWriter.commit([BatchWriter.Change(slot.untyped, prepared)])
        }
        await history.ledger.flush()
    }

    private func store(_ prepared: EncodedValue, _ slot: UntypedSlot) async throws {
        if slot.key.isSetWithoutRead { return try await put(prepared, slot) }
        try await slots.retrying(slot.name) { () -> Void? in
            let probe = try await self.probe(slot)
            try coder.requireNotLater(probe, prepared)
            let kept = try await mirroredLocations.look(for: slot, over: probe)
            let origin = try await origins.next(slot, over: probe, kept)
            return try await write(prepared.over(probe, now: coder.now), slot, origin, over: probe, kept)
        }
    }

    /// Writes a value, and then its mirror if a release window keeps a legacy location up to date. Returns nil if the slot has
    /// changed since it was read.
    private func write(
        _ prepared: EncodedValue, _ slot: UntypedSlot, _ origin: RecordOrigin?, over probe: StorageProbe, _ kept: MirroredLocation.Seen?
    ) async throws -> Void? {
        let coded = try await coder.complete(prepared, origin: origin)
        guard let revision = try await purger.change(coded.operation, slot.route, over: probe) else { return nil }
        if let kept { await mirrorWriter.write(prepared, coded, origin, revision, kept) }
        return ()
    }

    /// Stores a value without a read. Under its lock, the store replaces any content, except a value of a later version and a
    /// record with an origin. A record whose origin names older copies is replaced by a record that names the same copies.
    /// Damaged bytes are quarantined first.
    private func put(_ prepared: EncodedValue, _ slot: UntypedSlot) async throws {
        let plain = try await coder.complete(prepared, origin: nil).operation
        var (operation, precondition) = (plain, demanded(of: prepared))
        for await _ in slots.attempts {
            switch try await slots.committer.commit([Committer.Change(operation, slot.route, if: precondition)]).conflict {
            case nil: return
            case .corrupt(let corruption):
                operation = plain
                precondition = try await history.quarantine.keep(corruption, of: slot.route, beside: [])
            case .absent: (operation, precondition) = (plain, demanded(of: prepared))
            case let probe?:
                try coder.requireNotLater(probe, prepared)
                guard probe.revision != nil else { throw slot.route.error(for: .conflict(probe)) }
                // The slot has an expired value of a later version, or a record that names older copies.
                // Reason: "Every write carries the origin of the record it replaces" in Docs/Decisions/Migration.md.
                operation = try await coder.complete(prepared, origin: try await origins.kept(slot, over: probe)).operation
                precondition = probe.unchanged
            }
        }
        throw slot.route.error(for: .notAttempted)
    }

    /// Returns the precondition under which the store replaces the content of a slot that was not read.
    private func demanded(of prepared: EncodedValue) -> StorageMutation.Precondition {
        let version = prepared.facts.replacesLaterVersions ? nil : prepared.shape.version
        return .replaceable(version: version)
    }

    /// Reads a slot, and checks that the key may change its content.
    /// - Throws: ``StorageError`` with `incompatibleSchema` for a record of another type in the same collection, unless it has expired.
    func probe(_ slot: UntypedSlot) async throws -> StorageProbe {
        let probe = try await slot.route.probe()
        if let record = probe.record, !coder.isExpired(record) { try await coder.requireType(of: record, slot) }
        return probe
    }

    // MARK: Updating

    /// Reads, changes and writes a value. The body runs again if another process has changed the value since it was read.
    /// - Parameters:
    ///   - facts: The metadata that the new value gets; nil for the metadata of the present value.
    ///   - initial: The value that the body receives if the key has none.
    ///   - ifUnwritten: Reads the value after an error of its migration.
    func update<Value, R: Sendable>(
        _ slot: Slot<Value>, facts: WriteAttributes?, startingWith initial: Value?,
        ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>,
        _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> R {
        try await slots.retrying(slot.name) { () -> R? in
            let update: Update<R>
            do { update = try await updateOnce(slot, facts, initial, ifUnwritten, body) } catch is ChangedMeanwhile { return nil }
            switch update {
            case .written(let answer):
                await history.ledger.flush()
                return answer
            case .refersTo(let change, let answer):
                do {
                    try await batchWriter.commit([change])
                    return answer
                } catch is ChangedMeanwhile { return nil }
            }
        }
    }

    /// The result of one attempt of an update.
    private enum Update<R: Sendable>: Sendable {
        case written(R)
        /// The new value contains records within references. All of them are written together, without holding the lane of the key.
        /// Reason: "A caller replaces a referenced record, migration inserts" in Docs/Decisions/Evolution.md.
        case refersTo(BatchWriter.Change, R)
    }

    private func updateOnce<Value, R: Sendable>(
        _ slot: Slot<Value>, _ facts: WriteAttributes?, _ initial: Value?,
        _ ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>,
        _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> Update<R> {
        // Migrate before the lane is taken, so that the migration continues if this caller is cancelled. Within the lane, one
        // read then suffices.
        if slot.key.mayBeOutdated || slot.key.membership?.gathered != nil {
            let (reading, error) = try await valueReader.readForUpdate(slot, ifUnwritten)
            if let error { try Self.refuse(reading, error, initial, body) }
        }
        return try await slots.withLane(slot.route) { () -> Update<R> in
            if let (reading, error) = try await valueReader.settleOrRead(slot, ifUnwritten) {
                try Self.refuse(reading, error, initial, body)
            }
            return try await slots.retrying(slot.name) { () -> Update<R>? in
                let probe = try await self.probe(slot.untyped)
                if case .corrupt(let corruption) = probe { throw slot.route.corrupted(corruption) }
                let record = probe.record.flatMap { coder.isExpired($0) ? nil : $0 }
                var value: Value?
                if let record { value = try await coder.read(record, slot).value }
                let hadValue = value != nil
                value = value ?? initial
                let answer = try body(&value)
                guard let value else {
                    if hadValue, try await !removeOnce(slot.untyped, over: probe, isMade: true) { return nil }
                    return .written(answer)
                }
                // Keep the expiry of the old record, unless the caller gives another one.
                var given = facts
                given?.past = record?.metadata
                let prepared = try valuePreparer.prepare(value, slot, given ?? record.map { .kept($0.metadata) } ?? .new)
                if !prepared.references.isEmpty {
                    return .refersTo(BatchWriter.Change(slot.untyped, prepared, if: probe.unchanged), answer)
                }
                let kept = try await mirroredLocations.look(for: slot.untyped, over: probe, isMade: true)
                let origin = try await origins.next(slot.untyped, over: probe, kept)
                return try await write(prepared, slot.untyped, origin, over: probe, kept).map { .written(answer) }
            }
        }
    }

    /// Runs the body of an update on a value whose migration could not be written, and throws. The result of the body is not written.
    private static func refuse<Value, R>(
        _ reading: ValueReader.Reading<Value>, _ error: any Error, _ initial: Value?, _ body: (inout Value?) throws -> R
    ) throws {
        var value = reading.value ?? initial
        // Reason: "A read answers even if its migration cannot be written" in Docs/Decisions/Migration.md.
        _ = try body(&value)
        throw error
    }

    // MARK: Removing

    /// Removes a value. If the key has a migration, writes a tombstone first, and then deletes the older copies.
    func remove<Value>(_ slot: Slot<Value>) async throws {
        try await slots.lists.prepare(slot.key)
        let slot = slot.overridingWitness.untyped
        try await slots.unbroken(in: slot.route) { [self] in
            try await slots.retrying(slot.name) { try await removeOnce(slot, over: try await probe(slot)) ? () : nil }
        }
        await history.ledger.flush()
    }

    /// Removes a value and its backups. Returns false if the slot has changed since it was read.
    /// - Parameter isMade: Whether an update decided the removal from the value that it had read.
    private func removeOnce(_ slot: UntypedSlot, over probe: StorageProbe, isMade: Bool = false) async throws -> Bool {
        let isRemoved: Void? =
            try await slot.key.leavesTombstone
            ? writeTombstone(slot, over: probe, isMade: isMade) : purger.delete(slot.route, over: probe)
        guard isRemoved != nil else { return false }
        try await Backups(engine: engine).purgeAfterRemoval(slot)
        return true
    }

    /// Writes a tombstone, and then deletes the older copies, the oldest first. Returns nil if the slot has changed since it was read.
    private func writeTombstone(_ slot: UntypedSlot, over probe: StorageProbe, isMade: Bool) async throws -> Void? {
        let kept = try await mirroredLocations.look(for: slot, over: probe, isMade: isMade)
        let contents = try await LegacyLocations(engine: engine).readReplaced(by: slot, except: kept)
        let origin = try await origins.removed(slot, over: probe, contents, kept)
        if kept == nil, case .tombstone(let tombstone) = probe,
            let old = try? await coder.origin(of: tombstone.metadata, slot.route),
            (contents.found + contents.lists).allSatisfy({ old.match($0.record, at: $0.route.place.text) != .none }),
            !slot.key.mayLoseConflicts || contents.unreadable.allSatisfy({ old.isUnnamed($0.place.text) })
        {
            // The value was removed before, and there is nothing new to name. Keep the tombstone, with the boot ID of its
            // write. Its writer may not have made it durable, so make it durable before this removal returns.
            _ = try await settledDurability(of: slot.route, old)
            return try await executor.purgeCopies(contents, of: slot, old)
        }
        let tombstone = try await coder.tombstone(origin, slot.route)
        guard let revision = try await purger.change(.tombstone(tombstone), slot.route, over: probe) else { return nil }
        let pending = if let kept { await mirrorWriter.writeRemoval(origin, revision, kept) } else { nil as StorageError? }
        try await executor.purgeCopies(contents, of: slot, origin)
        if let pending { throw pending.afterRemoval(of: slot.name) }
        return ()
    }
}
