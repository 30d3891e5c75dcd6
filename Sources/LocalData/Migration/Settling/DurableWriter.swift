import BackendContract

/// Writes values that migrations and chains make: the records that they refer to first, then the value, durably and read back.
struct DurableWriter: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    /// What a write achieved.
    struct Written: Sendable {
        let record: StorageRecord
        let durability: StorageDurability
    }

    /// Writes a value under a precondition. Nil when the precondition did not hold.
    /// - Throws: ``StorageError``; when the value could not be read back, with the outcome `unknown`.
    func write<Value>(
        _ value: Value, _ slot: Slot<Value>, _ origin: RecordOrigin, _ facts: WriteAttributes,
        if precondition: StorageMutation.Precondition,
        _ holder: ReferenceHolder
    ) async throws -> Written? {
        try await write(try coder.prepare(value, slot, facts), slot, origin, if: precondition, holder)
    }

    /// Writes a prepared value under a precondition, after a backup of what it replaces if one is given, and in the removal epoch of its collection.
    /// Nil when the precondition did not hold, or another epoch has begun.
    func write<Value>(
        _ prepared: EncodedValue, _ slot: Slot<Value>, _ origin: RecordOrigin?, if precondition: StorageMutation.Precondition,
        after backup: Committer.Change? = nil,
        inEpoch epoch: Committer.Change? = nil, _ holder: ReferenceHolder
    ) async throws -> Written? {
        // Reason: "A referenced record is stored before its holder" in Docs/Decisions/Evolution.md.
        try await ReferenceWriter(slots, coder, history, program).store(prepared.references, for: holder)
        let change = Committer.Change(
            try await coder.complete(prepared, origin: origin).operation, slot.route, if: precondition)
        let receipt = try await slots.committer.commit([change] + [backup, epoch].compactMap(\.self), readsBack: true) { _, found in
            _ = try await coder.decode(found, slot)
        }
        if case .corrupt(let corruption)? = receipt.conflict { throw slot.route.corrupted(corruption) }
        return receipt.record(of: change, at: 0).map { Written(record: $0, durability: receipt.durability) }
    }
}
