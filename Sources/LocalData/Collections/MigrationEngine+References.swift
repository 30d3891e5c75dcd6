import BackendContract
import BackendRuntime

/// A value that a migration, or a step of a chain, made of older ones, and that refers to records.
struct ReferenceHolder: Sendable {
    /// Where it will stand.
    let route: Route
    /// What it was made of.
    let copies: [SourceRecord]
    var allowsWeakerProtection = false
    /// The bytes of the records that the same step writes by themselves.
    var beside: [PhysicalSlot: [UInt8]] = [:]

    /// What became of a record that it refers to.
    enum Insertion: Sendable {
        /// It stands there, as it was held.
        case stands
        /// Another state of it stands there or will, or it was removed.
        case isKnownOtherwise
    }
}

/// Values that hold records within their references: wherever such a value is written, the records are stored before it goes.
extension MigrationEngine {
    /// Stores the records that a made value refers to, durably and where there are none yet, before the value is written and what it was made of goes. What stands already
    /// stays, and a removed record stays removed; what held another state of it is quarantined then.
    func store(_ references: ReferenceCollector, for holder: @autoclosure () -> ReferenceHolder) async throws {
        let found = references.found
        if found.isEmpty || !safeguards.contains(.referredRecords) { return }
        let holder = holder()
        var isKnownOtherwise = references.hasOtherStates
        for referred in found {
            if case .isKnownOtherwise = try await referred.insert(self, holder) { isKnownOtherwise = true }
        }
        guard isKnownOtherwise else { return }
        for copy in holder.copies {
            try await quarantine.keep(
                copy.record, of: copy.route, beside: [holder.route],
                reason: "replaced: a record within it stands elsewhere in another state")
        }
    }

    /// Stores a record that a made value refers to, where there is none. It is changed by a precondition alone, for the lane of its holder is held: two records that refer
    /// to each other would wait for each other.
    func insert<Record>(
        _ record: Record, _ key: StorageKey<Record>, of collection: StorageCollection<Record>, for holder: ReferenceHolder
    ) async throws -> ReferenceHolder.Insertion {
        let route = try routes.route(for: key)
        if route.slot == holder.route.slot { return .stands }
        guard !holder.copies.contains(where: { $0.route.slot == route.slot }) else {
            throw StorageError(
                StorageError.migrationFailed, key: holder.route.keyName,
                "It refers to \(key.name) in \(collection.name), which it was made of and which would go. Give the record another collection; the older value is left as it is."
            )
        }
        if let bytes = holder.beside[route.slot] { return try records.bytes(of: record, key) == bytes ? .stands : .isKnownOtherwise }
        try checkProtection(of: route, for: holder)
        // A list that holds all of its collection's records comes first.
        let mark = try routes.route(for: collection.placeholder)
        if !lanes.isHeldByCurrentChain(mark.slot) { try await key.prepare?(self) }
        let isElsewhere = try await isElsewhere(key, route, holder)
        var standing: StorageRecord?
        if isElsewhere {
            standing = try await self.standing(route).record
        } else {
            // Its own references were gathered before it.
            let (payload, metadata) = try await records.encode(record, key, route, origin: nil, .new, nil)
            switch try await applyTelling(.put(payload, metadata), route, if: .absent) {
            case .applied(let revision?, let durability):
                let written = StorageRecord(payload: payload, metadata: metadata, revision: revision)
                do { try await verify(written, key, route) } catch {
                    hub.publishDoubt(at: route.slot)
                    throw error
                }
                hub.publish(written, at: route.slot)
                try require(durability, of: route, for: holder)
                return .stands
            case .conflict(.value(let found)): standing = found
            case .conflict(.tombstone): return .isKnownOtherwise
            case let result: throw route.error(for: result)
            }
            try require(try await settledDurability(of: route, nil), of: route, for: holder)
        }
        guard let standing, !standing.metadata.isExpired(at: runtime.clock.wallSeconds) else { return .isKnownOtherwise }
        let mine = try await records.decode(standing, key, route)
        return try records.bytes(of: mine, key) == records.bytes(of: record, key) ? .stands : .isKnownOtherwise
    }

    /// Whether a record will come to its place by itself: an older place holds it.
    private func isElsewhere<Record>(_ key: StorageKey<Record>, _ route: Route, _ holder: ReferenceHolder) async throws -> Bool {
        let (found, unreadable) = try await readableSources(of: key, route)
        if let place = unreadable.first {
            throw StorageError(
                StorageError.unavailable, key: key.name,
                "Whether \(place.domain)/\(place.keyName) holds the record cannot be seen now. What refers to it is left as it is; try again when it can be read."
            )
        }
        if !found.isEmpty { return true }
        // A record of the collection that is being moved comes from where its holder came from.
        let (own, its) = (route.slot, holder.route.slot)
        guard own.store == its.store, own.address.namespace == its.address.namespace else { return false }
        for copy in holder.copies where copy.route.slot != its && copy.route.address.name == its.address.name {
            let sibling = StorageAddress(own.address.name, in: copy.route.address.namespace)
            let probe = try await translatingErrors(key: key.name) { () throws(BackendError) in try await copy.route.backend.read(sibling) }
            switch probe {
            case .value: return true
            case .absent, .tombstone: continue
            case .locked, .unavailable, .corrupt: throw copy.route.error(for: .conflict(probe))
            }
        }
        return false
    }

    /// That a record would be protected, and last, as well in its own place as within what it was made of.
    private func checkProtection(of route: Route, for holder: ReferenceHolder) throws {
        guard safeguards.contains(.protection), !holder.allowsWeakerProtection else { return }
        for copy in holder.copies {
            let isWeaker = route.protection < copy.route.protection
            guard isWeaker || route.capabilities.durability < copy.route.capabilities.durability else { continue }
            throw StorageError(
                StorageError.weakerProtection, key: copy.route.keyName,
                "It holds the record \(route.keyName), which \(route.domain) would not \(isWeaker ? "protect as well" : "keep as long"). Choose a stronger place for the record."
            )
        }
    }

    /// That a record is as certain to stay as its store can tell.
    private func require(_ achieved: StorageDurability, of route: Route, for holder: ReferenceHolder) throws {
        guard safeguards.contains(.durabilityBarrier) else { return }
        let needed = holder.copies.map(\.route.capabilities.durability).reduce(route.capabilities.durability, min)
        guard achieved < needed else { return }
        throw StorageError(
            StorageError.unavailable, key: route.keyName,
            "The record is in \(route.domain) and not certain to stay there yet. What holds it is left as it is; try again.")
    }
}
