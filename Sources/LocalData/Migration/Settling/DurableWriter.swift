import BackendContract

/// Writes the values that migrations and chains of versions make. First stores the records that the value refers to, then
/// writes the value durably and reads it back.
struct DurableWriter: EnginePart, Sendable {
    let engine: Engine

    /// The record that a write stored, and its durability.
    struct Written: Sendable {
        let record: StorageRecord
        let durability: StorageDurability
    }

    /// Writes a value under a precondition. Returns nil if the precondition did not hold.
    /// - Throws: ``StorageError``; with the outcome `unknown` if the value could not be read back.
    func write<Value>(
        _ value: Value, _ slot: Slot<Value>, _ origin: RecordOrigin, _ facts: WriteAttributes,
        if precondition: StorageMutation.Precondition,
        _ holder: ReferenceHolder
    ) async throws -> Written? {
        try await write(try coder.prepare(value, slot, facts), slot, origin, if: precondition, holder)
    }

    /// Writes an encoded value under a precondition.
    /// - Parameters:
    ///   - backup: The change that stores a backup of the replaced record; nil for none. It is in the same commit or, without
    ///     atomic batches, before the write.
    ///   - epoch: The check that the removal epoch of the collection is unchanged; nil for none.
    /// - Returns: The written record; nil if the precondition did not hold, or if the removal epoch has changed.
    func write<Value>(
        _ prepared: EncodedValue, _ slot: Slot<Value>, _ origin: RecordOrigin?, if precondition: StorageMutation.Precondition,
        after backup: Committer.Change? = nil,
        inEpoch epoch: Committer.Change? = nil, _ holder: ReferenceHolder
    ) async throws -> Written? {
        // Reason: "A referenced record is stored before its holder" in Docs/Decisions/Evolution.md.
        try await ReferenceWriter(engine: engine).store(prepared.references, for: holder)
        let change = Committer.Change(
            try await coder.complete(prepared, origin: origin).operation, slot.route, if: precondition)
        let receipt = try await slots.committer.commit([change] + [backup, epoch].compactMap(\.self), readsBack: true) { _, found in
            _ = try await coder.decode(found, slot)
        }
        if case .corrupt(let corruption)? = receipt.conflict { throw slot.route.corrupted(corruption) }
        return receipt.record(of: change, at: 0).map { Written(record: $0, durability: receipt.durability) }
    }
}
