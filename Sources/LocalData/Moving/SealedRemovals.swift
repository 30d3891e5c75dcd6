import BackendContract
import BackendRuntime

/// Seals tombstones in a key's slot that were written while the key's values were not sealed, or were sealed with another sealing key.
/// Without a new seal, nothing proves to the key that they are removals.
struct SealedRemovals: EnginePart, Sendable {
    let engine: Engine

    /// Seals the content of a key's slot, if a source of the key has the same slot and proves that the content is a tombstone.
    /// - Returns: Whether the tombstone was written; false if the slot was changed since it was read. Nil if there is no such source or
    ///   tombstone.
    func seal(_ occupant: Mover.Occupant, _ slot: UntypedSlot, as source: AnyStorageKey) async throws -> Bool? {
        let older = try slots.routes.route(for: source)
        guard case .corrupt(let corruption) = occupant, older.slot == slot.id, case .tombstone(let tombstone) = try await older.read(),
            tombstone.revision == corruption.revision
        else { return nil }
        let past = try await coder.origin(of: tombstone.metadata, older)
        let metadata = try await coder.tombstone(
            past ?? RecordOrigin(boot: slots.runtime.host.bootID), slot.route, attributes: tombstone.metadata.attributes,
            date: tombstone.metadata.modifiedAt)
        return try await executor.restate(.tombstone(metadata), at: slot.route, over: tombstone.revision) != nil
    }
}
