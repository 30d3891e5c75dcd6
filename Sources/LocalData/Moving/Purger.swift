import BackendContract

/// Deletes values that were removed or have expired.
struct Purger: EnginePart, Sendable {
    let engine: Engine

    /// The result of a purge of an expired value.
    enum Purge: Sendable {
        case purged
        /// The value remains for now: it is purged a day after a sweep first found it expired.
        case kept
        /// The value has changed since it was read.
        case changed
    }

    /// Purges an expired value, if a sweep first found it expired at least a day ago. A key whose removals leave tombstones gets one, so
    /// that no older copy is migrated again. The tombstone names the copies that the value's origin names. It names no other content of
    /// legacy locations, because that content was never removed.
    func purge(_ record: StorageRecord, _ slot: UntypedSlot) async throws -> Purge {
        guard await history.expiries.mayPurge(record) else { return .kept }
        return try await purgeNow(record, slot) ? .purged : .changed
    }

    private func purgeNow(_ record: StorageRecord, _ slot: UntypedSlot) async throws -> Bool {
        // Purge the backups first: they could not be found without the value.
        try await Backups(engine: engine).purge(slot)
        guard slot.key.leavesTombstone else { return try await delete(slot.route, over: .value(record)) != nil }
        let origin = try await origins.carried(slot, over: .value(record), .none)
        let tombstone = StorageMutation.Operation.tombstone(try await coder.tombstone(origin, slot.route))
        let change = Committer.Change(tombstone, slot.route, if: .revision(record.revision))
        let isPurged = try await slots.committer.commit([change]).isCommitted
        // Otherwise the witness would stay until the next read of the key.
        if isPurged { await slot.route.witnesses?.end(at: slot.route) }
        return isPurged
    }

    /// Deletes the value of a key without a migration.
    /// - Returns: Nil if the slot has changed since it was read.
    func delete(_ route: Route, over probe: StorageProbe) async throws -> Void? {
        switch probe {
        case .absent, .tombstone:
            // Another process may have removed the value, and its removal may not be durable yet. Make it durable.
            _ = try await settledDurability(of: route, nil)
            return ()
        default: return try await change(try await deletion(of: probe, route), route, over: probe).map { _ in () }
        }
    }

    /// Returns the change that deletes the content of a slot, for a key without a migration. If the origin of a value names older copies,
    /// the change replaces the value by a tombstone. Otherwise a program whose key has the migration would take these copies for the value.
    func deletion(of probe: StorageProbe, _ route: Route) async throws -> StorageMutation.Operation {
        switch probe {
        case .value(let record) where record.metadata.origin != nil:
            let (metadata, date) = (record.metadata, record.metadata.modifiedAt)
            guard route.security.keySource != nil else {
                // The tombstone of a sealed value must be sealed too, and this key has no key source for that.
                return metadata.sealing == nil ? .tombstone(StorageMetadata(origin: metadata.origin, modifiedAt: date)) : .delete
            }
            guard let origin = try await coder.origin(of: metadata, route) else { return .delete }
            return .tombstone(try await coder.tombstone(origin, route, date: date))
        case .tombstone(let tombstone): return .tombstone(tombstone.metadata)
        default: return .delete
        }
    }

    /// Applies a change if the slot is unchanged since it was read. Damaged bytes are quarantined first.
    /// - Returns: The new revision of the slot, or an empty revision if the slot was deleted. Nil if the slot has changed since it was
    ///   read.
    func change(
        _ operation: StorageMutation.Operation, _ route: Route, over probe: StorageProbe
    ) async throws -> StorageRevision? {
        if case .corrupt(let corruption) = probe { _ = try await history.quarantine.keep(corruption, of: route, beside: []) }
        let receipt = try await slots.committer.commit([slots.committer.change(operation, route, over: probe)])
        guard receipt.isCommitted, case .applied(let revision, _) = receipt.results[0] else { return nil }
        return revision ?? StorageRevision([])
    }
}
