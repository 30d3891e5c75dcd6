import BackendContract
import BackendRuntime

/// The bytes that a value had before its chain of versions changed it: kept in the same store, so with the same protection.
struct Backups: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History) { (self.slots, self.coder, self.history) = (slots, coder, history) }

    /// Where the bytes of an earlier version are kept.
    static func address(of address: StorageAddress, version: Int) -> StorageAddress {
        StorageAddress(address.name, in: namespace(of: address.namespace, version: version))
    }

    /// The part of a store that holds backups of one version.
    /// Reason: "A backup is stored beside its record" in Docs/Decisions/Evolution.md.
    static func namespace(of namespace: StorageNamespace, version: Int) -> StorageNamespace {
        StorageNamespace("backup:\(version):\(namespace.name)")
    }

    /// The change that keeps a record.
    static func change(of record: StorageRecord, at route: Route, version: Int) -> Committer.Change {
        let mutation = StorageMutation.put(record.payload, record.metadata, at: address(of: route.address, version: version))
        return Committer.Change(route, mutation, isCompanion: true)
    }

    /// Swaps the latest backup with what the slot holds.
    /// - Parameter wanted: The version to restore; nil for the latest.
    /// - Returns: The version that was restored; nil when there is no backup.
    func restore<Value>(_ slot: Slot<Value>, _ wanted: Int?) async throws -> Int? {
        let route = slot.route
        for version in wanted.map({ [$0] }) ?? (slot.key.evolution?.older ?? []).reversed() {
            let address = Self.address(of: route.address, version: version)
            let probes = try await translatingErrors(key: slot.name) { () throws(BackendError) in
                try await route.backend.read([address], .fresh)
            }
            // What is kept is sealed for the value's own place: it is proven there, once it is restored.
            let standing = try await route.judged(try await route.look(.fresh))
            guard let kept = probes[0].record else {
                if case .absent = probes[0] { continue }
                throw route.error(for: .conflict(probes[0]))
            }
            let restored = try await restored(kept, slot.untyped, over: standing)
            var changes = [Committer.Change(restored, route, if: standing.unchanged)]
            switch standing {
            case .value(let record):
                changes.append(Self.change(of: record, at: route, version: record.metadata.schemaVersion ?? version))
            case .absent, .tombstone: break
            case let probe: throw route.error(for: .conflict(probe))
            }
            let receipt = try await slots.committer.commit(changes)
            if let conflict = receipt.conflict { throw route.error(for: .conflict(conflict)) }
            return version
        }
        return nil
    }

    /// A record as it is restored: it also names what the record names that it replaces.
    private func restored(
        _ record: StorageRecord, _ slot: UntypedSlot, over probe: StorageProbe
    ) async throws -> StorageMutation.Operation {
        let past = try await coder.origin(of: record.metadata, slot.route)
        let kept = try await Origins(slots, coder, history).kept(slot, over: probe)
        // A backup of a mirror is a value of its own once it is restored.
        guard kept != nil || past?.mirrors != nil else { return .put(record.payload, record.metadata) }
        var origin = kept ?? RecordOrigin(boot: slots.runtime.host.bootID)
        origin.merge(past)
        return try await coder.restated(record.payload, record.metadata, origin, slot.route).operation
    }

    /// Purges what is kept of a value's earlier versions.
    func purge(_ slot: UntypedSlot) async throws {
        guard let chain = slot.key.evolution else { return }
        let route = slot.route
        // An earlier program may have kept what this one no longer keeps.
        let addresses = (chain.older + [chain.version]).map { Self.address(of: route.address, version: $0) }
        let probes = try await translatingErrors(key: slot.name) { () throws(BackendError) in
            try await route.backend.read(addresses, .fresh)
        }
        for (address, probe) in zip(addresses, probes) {
            if case .absent = probe { continue }
            try await purge([address], route)
        }
    }

    /// Purges backups of one store.
    func purge(_ addresses: [StorageAddress], _ route: Route) async throws {
        let changes = addresses.map { Committer.Change(route, StorageMutation($0, .delete), isCompanion: true) }
        let receipt = try await slots.committer.commit(changes)
        if let refused = receipt.results.first(where: { !$0.isApplied }) { throw route.error(for: refused) }
    }

    /// Purges what is kept of a value that was removed.
    /// - Throws: ``StorageError`` with `residueRemains` and the outcome `applied` when some of it stays.
    func purgeAfterRemoval(_ slot: UntypedSlot) async throws {
        do { try await purge(slot) } catch {
            let reason = (error as? StorageError)?.message ?? "The caller was cancelled."
            throw StorageError(
                StorageError.residueRemains, key: slot.name,
                "The value is removed and will not come back, but the backups of its earlier versions remain. Remove it again when \(slot.route.domain) can be reached. \(reason)",
                outcome: .applied, underlying: error)
        }
    }
}
