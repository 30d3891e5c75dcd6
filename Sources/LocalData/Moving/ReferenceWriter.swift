import BackendContract

/// A value that refers to records. A migration or a chain of versions made it from older values.
struct ReferenceHolder: Sendable {
    /// The destination of the value.
    let route: Route
    /// The records from which the value was made.
    let copies: [SourceRecord]
    var allowsWeakerProtection = false
    /// The bytes of the records that the same step writes without ``ReferenceWriter``, by slot.
    var written: [PhysicalSlot: [UInt8]] = [:]
}

/// Stores the records to which a ``ReferenceHolder`` refers, before that value is written and the records from which it was made are
/// deleted.
struct ReferenceWriter: EnginePart, Sendable {
    let engine: Engine

    /// Stores records, durably, where there are none yet. A stored record stays, and a removed record stays removed; what held another state of it is quarantined then.
    func store(_ references: ReferencedRecords, for holder: @autoclosure () -> ReferenceHolder) async throws {
        if references.isEmpty { return }
        let holder = holder()
        var differs = references.hasOtherStates
        for referred in references.records where try await !isStored(referred, for: holder) { differs = true }
        guard differs else { return }
        for copy in holder.copies {
            try await history.quarantine.keep(
                copy.record, of: copy.route, beside: [holder.route],
                reason: "replaced: another state of a record within it is stored elsewhere")
        }
    }

    /// Stores one record if its slot is empty. Only the precondition of the write protects the slot. The lane of the slot is not taken,
    /// because the caller holds the lane of the value: two records that refer to each other would wait for each other.
    /// - Returns: Whether the record is stored with the content that the value contains. Otherwise another state of it is stored or will be,
    ///   or it was removed.
    private func isStored<Record: ReferredRecord>(_ referred: Record, for holder: ReferenceHolder) async throws -> Bool {
        let collection = Record.Target.collection
        let slot = try slots.routes.slot(for: referred.key)
        if slot.id == holder.route.slot { return true }
        guard !holder.copies.contains(where: { $0.route.slot == slot.id }) else {
            throw StorageError(
                StorageError.migrationFailed, key: holder.route.keyName,
                "The new value refers to the record \(slot.name) in \(collection.name). It was made from that record, which would then be deleted. Give the record another collection; the older value is unchanged."
            )
        }
        if let bytes = holder.written[slot.id] { return referred.bytes == bytes }
        try checkProtection(of: slot.route, for: holder)
        // If a list contains all records of the collection, it is split into records first.
        let mark = try slots.routes.slot(for: collection.placeholder)
        if !slots.lanes.isHeldByCurrentChain(mark.id) { try await slots.lists.prepare(slot.key) }
        let stored: StorageRecord?
        if try await comesByItself(slot, holder) {
            stored = try await slot.route.probe().record
        } else {
            let coded = try await coder.complete(try coder.prepare(referred, slot), origin: nil)
            let change = Committer.Change(coded.operation, slot.route, if: .absent)
            let receipt = try await executor.write(Moves(writes: [change])) { _ = try await coder.decode($1, slot) }
            switch receipt.conflict {
            case nil:
                try requireDurable(receipt.durability, slot.route, for: holder)
                program.rehearsal?.storesReference()
                return true
            case .value(let found): stored = found
            case .tombstone: return false
            case let probe?: throw slot.route.error(for: .conflict(probe))
            }
            try requireDurable(
                try await settledDurability(of: slot.route, nil), slot.route, for: holder)
        }
        guard let stored, !coder.isExpired(stored) else { return false }
        let mine = try await coder.decode(stored, slot)
        return try coder.bytes(of: mine, slot.key) == referred.bytes
    }

    /// Returns whether a migration will move a record to its slot, because a legacy location contains it.
    private func comesByItself<Record>(_ slot: Slot<Record>, _ holder: ReferenceHolder) async throws -> Bool {
        let contents = try await LegacyLocations(engine: engine).read(for: slot.untyped)
        if let place = contents.unreadable.first {
            throw StorageError(
                StorageError.unavailable, key: slot.name,
                "\(place.displayName) may contain the record, but cannot be read now. The value that refers to the record is unchanged; try again when the location can be read."
            )
        }
        if !contents.found.isEmpty { return true }
        // If the record and its holder are in one collection, the record may still be in the collection from which the holder comes.
        let (own, its) = (slot.id, holder.route.slot)
        guard own.store == its.store, own.address.namespace == its.address.namespace else { return false }
        for copy in holder.copies where copy.route.slot != its && copy.route.address.name == its.address.name {
            let sibling = StorageAddress(own.address.name, in: copy.route.address.namespace)
            let probe = try await copy.route.beside(in: sibling.namespace, named: sibling.name).read()
            switch probe {
            case .value: return true
            case .absent, .tombstone: continue
            case .locked, .unavailable, .corrupt: throw copy.route.error(for: .conflict(probe))
            }
        }
        return false
    }

    /// Throws if a record's store protects less, or is less durable, than the store of a copy from which the value was made, unless that is
    /// allowed.
    private func checkProtection(of route: Route, for holder: ReferenceHolder) throws {
        if holder.allowsWeakerProtection { return }
        for copy in holder.copies {
            let isWeaker = route.protection < copy.route.protection
            guard isWeaker || route.capabilities.durability < copy.route.capabilities.durability else { continue }
            throw StorageError(
                StorageError.weakerProtection, key: copy.route.keyName,
                "It holds the record \(route.keyName), which \(route.domain) would not \(isWeaker ? "protect as well" : "keep as long"). Choose a stronger place for the record."
            )
        }
    }

    /// Throws unless a record is as durable as its store can make it, or as one of the stores from which the value came.
    private func requireDurable(_ achieved: StorageDurability, _ route: Route, for holder: ReferenceHolder) throws {
        let needed = holder.copies.map(\.route.capabilities.durability).reduce(route.capabilities.durability, min)
        guard achieved < needed else { return }
        throw StorageError(
            StorageError.unavailable, key: route.keyName,
            "The record is in \(route.domain) and not certain to last yet. The value that refers to it is unchanged; try again.")
    }
}
