import BackendContract
import BackendRuntime

/// Seals the removals that were written in a key's place while it was not sealed, or sealed with another key: nothing proves them to the key.
struct SealedRemovals: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder

    init(_ slots: SlotAccess, _ coder: RecordCoder) { (self.slots, self.coder) = (slots, coder) }

    /// Seals what a key's place holds, if one of the key's sources has the same place and proves there that it is a removal.
    /// - Returns: Whether it was written; false means that the place was changed meanwhile. Nil for anything else.
    func seal(_ occupant: Mover.Occupant, _ slot: UntypedSlot, as source: AnyStorageKey) async throws -> Bool? {
        let older = try slots.routes.route(for: source)
        guard case .corrupt(let corruption) = occupant, older.slot == slot.id, case .tombstone(let tombstone) = try await older.read(),
            tombstone.revision == corruption.revision
        else { return nil }
        let past = try await coder.origin(of: tombstone.metadata, older)
        let metadata = try await coder.tombstone(
            past ?? RecordOrigin(boot: slots.runtime.host.bootID), slot.route, attributes: tombstone.metadata.attributes,
            date: tombstone.metadata.modifiedAt)
        let change = Committer.Change(.tombstone(metadata), slot.route, if: .revision(tombstone.revision))
        return try await slots.committer.commit([change]).isCommitted
    }
}
