import Synchronization

extension RehearsalStore {
    /// A slot (the location of one value) that the rehearsal changed. A rehearsal is a run that keeps its changes in
    /// memory. `base` is the slot's content in the underlying store, `content` its content in the rehearsal.
    private typealias Changed = (address: StorageAddress, base: StorageProbe, content: StorageProbe)

    /// Returns the slots of a namespace whose rehearsed change still applies, in the order of their names. A change no longer applies if
    /// another process has changed the slot in the underlying store.
    private func changed(in namespace: StorageNamespace, after last: StorageAddress? = nil) async throws(BackendError) -> [Changed] {
        let addresses = changes.slots.withLock { slots in
            slots.keys.filter { $0.namespace == namespace && last?.precedes($0) != false }.sorted { $0.precedes($1) }
        }
        if addresses.isEmpty { return [] }
        let probes = try await base.read(addresses, .validated)
        return changes.slots.withLock { slots in
            zip(addresses, probes).compactMap { address, probe in
                guard let change = slots[address], change.isOver(probe) else { return nil }
                return (address, probe, change.content)
            }
        }
    }

    /// Lists the slots of the underlying store, without the slots that the rehearsal deleted. Adds the slots that only
    /// the rehearsal filled.
    package func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        try await present(try await base.addresses(in: namespace), in: namespace)
    }

    private func present(_ found: [StorageAddress], in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        var listed = Set(found)
        for slot in try await changed(in: namespace) {
            if case .absent = slot.content { listed.remove(slot.address) } else { listed.insert(slot.address) }
        }
        return Array(listed)
    }

    /// Returns a page of a query. First come the pages of the underlying store, without the slots that the rehearsal
    /// changed. Then come pages with the changed slots, in the order of their names.
    ///
    /// A cursor, the position after a page, consists of bytes. Between pages of the underlying store it is the byte 0
    /// followed by that store's cursor. A cursor for changed slots is the byte 1 followed by the name of the last slot
    /// that was returned, or by nothing.
    package func page(
        _ query: StorageQuery, after cursor: StorageCursor?, limit: Int
    ) async throws(BackendError) -> StoragePage {
        let rest = Array((cursor?.bytes ?? [0]).dropFirst())
        switch cursor?.bytes.first {
        case nil where cursor == nil, 0: return try await basePage(query, after: rest.isEmpty ? nil : StorageCursor(rest), limit)
        case 1:
            guard let name = String(validating: rest, as: UTF8.self) else { throw StorageCursor.stranger }
            return try await changedPage(query, after: name.isEmpty ? nil : StorageAddress(name, in: query.namespace), limit)
        default: throw StorageCursor.stranger
        }
    }

    private func basePage(_ query: StorageQuery, after cursor: StorageCursor?, _ limit: Int) async throws(BackendError) -> StoragePage {
        let page = try await base.page(query, after: cursor, limit: limit)
        return changes.slots.withLock { slots in
            let kept = page.entries.filter { entry in slots[entry.address].map { !$0.isOver(entry.probe) } ?? true }
            if let next = page.next { return StoragePage(kept, damaged: page.damaged, next: StorageCursor([0] + next.bytes)) }
            let isOver = !slots.keys.contains { $0.namespace == query.namespace }
            return StoragePage(
                kept, damaged: page.damaged, next: isOver ? nil : StorageCursor([1]), isComplete: isOver && page.isComplete)
        }
    }

    private func changedPage(_ query: StorageQuery, after last: StorageAddress?, _ limit: Int) async throws(BackendError) -> StoragePage {
        var entries: [StoragePage.Entry] = []
        for slot in try await changed(in: query.namespace, after: last) {
            guard let entry = try query.entry(slot.address, slot.content) else { continue }
            if entries.count == max(limit, 1) {
                return StoragePage(entries, next: StorageCursor([1] + Array(entries[entries.count - 1].address.name.utf8)))
            }
            entries.append(entry)
        }
        // Never claim that the enumeration is complete: the cursor does not contain whether the underlying store
        // claimed it on its last page.
        return StoragePage(entries, next: nil, isComplete: false)
    }

    /// Returns the count of the underlying store, corrected for the changed slots.
    package func count(_ query: StorageQuery) async throws(BackendError) -> Int {
        var count = try await base.count(query)
        for slot in try await changed(in: query.namespace) {
            if try query.entry(slot.address, slot.base) != nil { count -= 1 }
            if try query.entry(slot.address, slot.content) != nil { count += 1 }
        }
        return count
    }
}

// MARK: Damage without a name

extension RehearsalStore {
    /// Lists the slots as ``addresses(in:)`` does. Adds the damaged slots of the underlying store whose names cannot be read.
    package func listing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
        guard let salvageable = base as? any SalvageableBackend else {
            return StorageListing(try await addresses(in: namespace), damaged: [])
        }
        let listing = try await salvageable.listing(in: namespace)
        return StorageListing(try await present(listing.addresses, in: namespace), damaged: listing.damaged)
    }

    /// Reads the damaged slot of the underlying store that a handle identifies.
    package func damage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? {
        try await (base as? any SalvageableBackend)?.damage(at: handle)
    }

    /// Always throws `unsupported`: a rehearsal cannot record the deletion of a slot that only a handle identifies.
    package func deleteDamage(at handle: DamageHandle) async throws(BackendError) -> Bool {
        throw BackendError(.unsupported, "A rehearsal deletes no damaged slot.")
    }
}

extension StoragePage.Entry {
    /// The content of the entry, as a read of the slot returns it.
    fileprivate var probe: StorageProbe {
        switch content {
        case .record(let record): .value(record)
        case .corrupt(let corruption): .corrupt(corruption)
        }
    }
}
