import BackendContract

/// Deletes values that were removed or have expired.
struct Purger: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History) { (self.slots, self.coder, self.history) = (slots, coder, history) }

    /// What became of a value whose lifetime is over.
    enum Purge: Sendable {
        case purged
        /// It stays for now: it was not found expired a day ago.
        case kept
        /// It was changed meanwhile.
        case changed
    }

    /// Deletes a value whose lifetime has been over for a day; with a migration by a tombstone, so that no older copy takes its place. The tombstone names what the value's
    /// origin named, and no other content of legacy locations: that was never removed.
    func purge(_ record: StorageRecord, _ slot: UntypedSlot) async throws -> Purge {
        guard await history.expiries.mayPurge(record) else { return .kept }
        return try await purgeNow(record, slot) ? .purged : .changed
    }

    private func purgeNow(_ record: StorageRecord, _ slot: UntypedSlot) async throws -> Bool {
        // The backups first: they could not be found once the value is gone.
        try await Backups(slots, coder, history).purge(slot)
        guard slot.key.leavesTombstone else { return try await delete(slot.route, over: .value(record)) != nil }
        let origin = try await Origins(slots, coder, history).carried(slot, over: .value(record), .none)
        let tombstone = StorageMutation.Operation.tombstone(try await coder.tombstone(origin, slot.route))
        let change = Committer.Change(tombstone, slot.route, if: .revision(record.revision))
        return try await slots.committer.commit([change]).isCommitted
    }

    /// Deletes a value through a key without a migration. Nil when the slot was changed meanwhile.
    func delete(_ route: Route, over probe: StorageProbe) async throws -> Void? {
        switch probe {
        case .absent, .tombstone:
            // The removal by another process may not be durable yet.
            _ = try await ResiduePurger(slots, coder, history).settledDurability(of: route, nil)
            return ()
        default: return try await change(try await deletion(of: probe, route), route, over: probe).map { _ in () }
        }
    }

    /// The change that deletes what was seen through a key without a migration. If its origin names older copies, a tombstone stays: a program whose key has the migration would
    /// take them for the value.
    func deletion(of probe: StorageProbe, _ route: Route) async throws -> StorageMutation.Operation {
        switch probe {
        case .value(let record) where record.metadata.origin != nil:
            let (metadata, date) = (record.metadata, record.metadata.modifiedAt)
            guard route.security.keySource != nil else {
                // Without the key's source there is no proof for a removal of a sealed value.
                return metadata.sealing == nil ? .tombstone(StorageMetadata(origin: metadata.origin, modifiedAt: date)) : .delete
            }
            guard let origin = try await coder.origin(of: metadata, route) else { return .delete }
            return .tombstone(try await coder.tombstone(origin, route, date: date))
        case .tombstone(let tombstone): return .tombstone(tombstone.metadata)
        default: return .delete
        }
    }

    /// Makes a change if the slot still is as it was seen; damaged bytes are quarantined first.
    /// - Returns: The slot's new revision, empty for a slot that was deleted. Nil when it was changed meanwhile.
    func change(
        _ operation: StorageMutation.Operation, _ route: Route, over probe: StorageProbe
    ) async throws -> StorageRevision? {
        if case .corrupt(let corruption) = probe { _ = try await history.quarantine.keep(corruption, of: route, beside: []) }
        let receipt = try await slots.committer.commit([slots.committer.change(operation, route, over: probe)])
        guard receipt.isCommitted, case .applied(let revision, _) = receipt.results[0] else { return nil }
        return revision ?? StorageRevision([])
    }
}
