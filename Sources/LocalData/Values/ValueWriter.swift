import BackendContract

/// Sets, changes and removes single values.
struct ValueWriter: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var batchWriter: BatchWriter { BatchWriter(slots, coder, history, program) }
    private var mirrorWriter: MirrorWriter { MirrorWriter(slots, coder, history) }
    private var mirroredLocations: MirroredLocations { MirroredLocations(slots, coder, history) }
    private var origins: Origins { Origins(slots, coder, history) }
    private var purger: Purger { Purger(slots, coder, history) }
    private var residuePurger: ResiduePurger { ResiduePurger(slots, coder, history) }
    private var valuePreparer: ValuePreparer { ValuePreparer(slots, coder, history) }
    private var valueReader: ValueReader { ValueReader(slots, coder, history, program) }

    // MARK: Setting

    /// Stores a value. With a migration, the record keeps its origin and names the older copies that it replaces.
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

    /// Writes a value, and then the mirror in an older place that is kept up to date. Nil when the slot was changed meanwhile.
    private func write(
        _ prepared: EncodedValue, _ slot: UntypedSlot, _ origin: RecordOrigin?, over probe: StorageProbe, _ kept: MirroredLocations.Seen?
    ) async throws -> Void? {
        let coded = try await coder.complete(prepared, origin: origin)
        guard let revision = try await purger.change(coded.operation, slot.route, over: probe) else { return nil }
        if let kept {
            await mirrorWriter.write(prepared, coded, origin, revision, kept)
        }
        return ()
    }

    /// Stores a value whatever the slot holds, unless that is a value of a later version or names older copies: the store decides, under its own lock. What names older copies
    /// is replaced by a record that names them too. Damaged bytes are quarantined first.
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
                // A value of a later version that has expired, or one that names older copies.
                // Reason: "Every write carries the origin of the record it replaces" in Docs/Decisions/Migration.md.
                operation = try await coder.complete(prepared, origin: try await origins.kept(slot, over: probe)).operation
                precondition = probe.unchanged
            }
        }
        throw slot.route.error(for: .notAttempted)
    }

    /// What the store checks before it replaces what a slot holds.
    private func demanded(of prepared: EncodedValue) -> StorageMutation.Precondition {
        let version = prepared.facts.replacesLaterVersions ? nil : prepared.shape.version
        return .replaceable(version: version)
    }

    /// What a slot holds, when it is the key's to change.
    /// - Throws: ``StorageError`` with `incompatibleSchema` for the record of another type in the same collection, unless it has expired.
    func probe(_ slot: UntypedSlot) async throws -> StorageProbe {
        let probe = try await slot.route.probe()
        if let record = probe.record, !coder.isExpired(record), slot.key.refuses(record.metadata) {
            throw coder.otherType(record.metadata, slot.key)
        }
        return probe
    }

    // MARK: Updating

    /// Reads, changes and writes a value. The body may run again when another process changed the value meanwhile.
    /// - Parameters:
    ///   - facts: What stands beside the new value; nil for what stands beside the present one.
    ///   - initial: What the body begins with when the value is absent.
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

    /// What a read-change-write came to.
    private enum Update<R: Sendable>: Sendable {
        case written(R)
        /// The new value holds records within references: all of them are written together, without the lane of one of them.
        /// Reason: "A caller replaces a referenced record, migration inserts" in Docs/Decisions/Evolution.md.
        case refersTo(BatchWriter.Change, R)
    }

    private func updateOnce<Value, R: Sendable>(
        _ slot: Slot<Value>, _ facts: WriteAttributes?, _ initial: Value?,
        _ ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>,
        _ body: @Sendable (inout Value?) throws -> R
    ) async throws -> Update<R> {
        // A migration outlives this caller; what is left to do in the lane is one look.
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
                // The old record's expiry stays, unless the caller brings another.
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

    /// Runs the body of an update on a value that could not be moved from its legacy location, and throws. The result of the body is not written.
    private static func refuse<Value, R>(
        _ reading: ValueReader.Reading<Value>, _ error: any Error, _ initial: Value?, _ body: (inout Value?) throws -> R
    ) throws {
        var value = reading.value ?? initial
        // Reason: "A read answers even if its migration cannot be written" in Docs/Decisions/Migration.md.
        _ = try body(&value)
        throw error
    }

    // MARK: Removing

    /// Removes a value: with a migration by a tombstone first, and then wherever older copies are.
    func remove<Value>(_ slot: Slot<Value>) async throws {
        try await slots.lists.prepare(slot.key)
        let slot = slot.overridingWitness.untyped
        try await slots.unbroken { [self] in
            try await slots.withLane(slot.route) {
                try await slots.retrying(slot.name) { try await removeOnce(slot, over: try await probe(slot)) ? () : nil }
            }
        }
        await history.ledger.flush()
    }

    /// Removes a value and its backups. False when the slot was changed meanwhile.
    /// - Parameter isMade: Whether the removal was decided by the value.
    private func removeOnce(_ slot: UntypedSlot, over probe: StorageProbe, isMade: Bool = false) async throws -> Bool {
        let isRemoved: Void? =
            try await slot.key.leavesTombstone
            ? writeTombstone(slot, over: probe, isMade: isMade) : purger.delete(slot.route, over: probe)
        guard isRemoved != nil else { return false }
        try await Backups(slots, coder, history).purgeAfterRemoval(slot)
        return true
    }

    /// Writes the tombstone and deletes the older copies, the oldest first. Nil when the slot was changed meanwhile.
    private func writeTombstone(_ slot: UntypedSlot, over probe: StorageProbe, isMade: Bool) async throws -> Void? {
        let kept = try await mirroredLocations.look(for: slot, over: probe, isMade: isMade)
        let contents = try await LegacyLocations(slots).read(for: slot, except: kept)
        let origin = try await origins.removed(slot, over: probe, contents, kept)
        if kept == nil, case .tombstone(let tombstone) = probe,
            let old = try? await coder.origin(of: tombstone.metadata, slot.route),
            contents.found.allSatisfy({ old.match($0.record, at: $0.route.place.text) != .none })
        {
            // Removed before, and nothing new to name: the tombstone stays as it is, with the boot ID of its write. Its writer may not have made it durable; this removal
            // returns only once it is.
            _ = try await residuePurger.settledDurability(of: slot.route, old)
            try await residuePurger.purgeCopies(contents, of: slot, old)
            return ()
        }
        let tombstone = StorageMutation.Operation.tombstone(try await coder.tombstone(origin, slot.route))
        guard let revision = try await purger.change(tombstone, slot.route, over: probe) else { return nil }
        let pending = if let kept { await mirrorWriter.writeRemoval(origin, revision, kept) } else { nil as StorageError? }
        try await residuePurger.purgeCopies(contents, of: slot, origin)
        if let pending { throw pending.afterRemoval(of: slot.name) }
        return ()
    }
}
