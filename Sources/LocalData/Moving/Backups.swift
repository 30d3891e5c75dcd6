import BackendContract
import BackendRuntime

/// Creates, restores and purges backups: copies of stored records, one for each schema version. A backup is in the same store as its
/// record, so it has the same protection.
struct Backups: EnginePart, Sendable {
    let engine: Engine

    /// Returns the address of the backup of one version of a record.
    static func address(of address: StorageAddress, version: Int) -> StorageAddress {
        StorageAddress(address.name, in: namespace(of: address.namespace, version: version))
    }

    /// Returns the namespace of the backups of one version.
    /// Reason: "A backup is stored beside its record" in Docs/Decisions/Evolution.md.
    static func namespace(of namespace: StorageNamespace, version: Int) -> StorageNamespace {
        StorageNamespace("backup:\(version):\(namespace.name)")
    }

    /// Returns the change that stores a backup of a record.
    static func change(of record: StorageRecord, at route: Route, version: Int) -> Committer.Change {
        let mutation = StorageMutation.put(record.payload, record.metadata, at: address(of: route.address, version: version))
        return Committer.Change(route, mutation, isCompanion: true)
    }

    /// Replaces the record of a slot by a backup. The replaced record becomes the backup of its version.
    /// - Parameter wanted: The version to restore; nil for the latest backup.
    /// - Returns: The version that was restored; nil if there is no backup.
    func restore<Value>(_ slot: Slot<Value>, _ wanted: Int?) async throws -> Int? {
        let route = slot.route
        if route.isLocked { throw route.error(for: .locked) }
        for version in wanted.map({ [$0] }) ?? (slot.key.evolution?.older ?? []).reversed() {
            let address = Self.address(of: route.address, version: version)
            let probes = try await translating(slot.name, await route.backend.read([address], .fresh))
            // The backup is not verified here. Its seal is bound to the slot of the value, so a read verifies it after it is restored.
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

    /// Returns the change that restores a backup. The origin of the restored record also names the copies that the replaced record names.
    private func restored(
        _ record: StorageRecord, _ slot: UntypedSlot, over probe: StorageProbe
    ) async throws -> StorageMutation.Operation {
        let past = try await coder.origin(of: record.metadata, slot.route)
        let kept = try await origins.kept(slot, over: probe)
        // The backup of a mirror is restored as an ordinary value: its new origin does not say that it is a mirror.
        guard kept != nil || past?.mirrors != nil else { return .put(record.payload, record.metadata) }
        var origin = kept ?? RecordOrigin(boot: slots.runtime.host.bootID)
        origin.merge(past)
        return try await coder.restated(record.payload, record.metadata, origin, slot.route).operation
    }

    /// The number of versions before the present one whose backups are purged even if the chain does not have them.
    private static let span = 64

    /// Returns the versions of which a key may have backups: those of its chain, and those before its present version, because an earlier
    /// program may have had a longer chain. A key of version 1 without a chain has none.
    static func versions(_ chain: EvolutionChain?, _ version: Int) -> [Int] {
        guard chain != nil || version > 1 else { return [] }
        let first = max(min(1, version), version - span)
        return Set(chain?.older ?? []).union(first...version).sorted()
    }

    /// Purges the backups of a value.
    func purge(_ slot: UntypedSlot) async throws {
        let route = slot.route
        let addresses = Self.versions(slot.key.evolution, slot.key.schemaVersion).map { Self.address(of: route.address, version: $0) }
        if addresses.isEmpty { return }
        let probes = try await translating(slot.name, await route.backend.read(addresses, .fresh))
        for (address, probe) in zip(addresses, probes) {
            if case .absent = probe { continue }
            try await purge([address], route)
        }
    }

    /// Purges the backups at some addresses of one store.
    func purge(_ addresses: [StorageAddress], _ route: Route) async throws {
        let changes = addresses.map { Committer.Change(route, StorageMutation($0, .delete), isCompanion: true) }
        let receipt = try await slots.committer.commit(changes)
        if let refused = receipt.results.first(where: { !$0.isApplied }) { throw route.error(for: refused) }
    }

    /// Purges the backups of a value that was removed.
    /// - Throws: ``StorageError`` with `residueRemains` and the outcome `applied` if some of them remain.
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
