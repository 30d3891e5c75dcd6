package import BackendContract

/// A text that records must have in a derived attribute.
package struct AttributeMatch: Sendable {
    let name: String
    let text: String

    package init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
}

/// A record that a query has found.
package struct FoundRecord<Record: Sendable>: Sendable {
    package let id: String
    package let value: Record
    /// The state of the record that the query has read.
    let revision: StorageRevision
}

/// A page of the records that a query has found.
package struct FoundPage<Record: Sendable>: Sendable {
    package var records: [FoundRecord<Record>] = []
    /// The end of the page; nil for the last page.
    package var next: StorageCursor?
    /// The number of records that were read for the page.
    package var examined = 0
}

/// The numbers of records that have certain attributes, by the counts of the store.
package struct AttributeCounts: Sendable {
    /// The number of records that may expire.
    package let expiring: Int
    /// The number of records with each attribute.
    package let matching: [Int]
}

/// Reads the records of a collection that meet a condition.
package struct MatchReader<Record: Codable & Sendable>: EnginePart, Sendable {
    /// The condition of a query.
    package struct Condition: Sendable {
        /// Attributes that all records of the result have.
        var matches: [AttributeMatch] = []
        /// The attribute whose label leads to the records; nil to read every record of the collection.
        var label: AttributeMatch?
        /// Decides whether a decoded record belongs to the result.
        let isWanted: @Sendable (Record) -> Bool

        package init(matches: [AttributeMatch], label: AttributeMatch?, _ isWanted: @escaping @Sendable (Record) -> Bool) {
            (self.matches, self.label, self.isWanted) = (matches, label, isWanted)
        }
    }

    let engine: Engine
    let collection: StorageCollection<Record>
    /// The records in legacy locations that cannot be read.
    let unreadable: [RecordWork.Failure]

    /// The number of records in a page of a scan.
    package var pageSize: Int { slots.pageSize }

    // MARK: Labels

    /// Returns the numbers of records that have certain attributes. Nil if labels may not lead to all records: if the
    /// store has no counts, or if a record of the namespace lacks the attributes that the collection derives now.
    package func counts(of matches: [AttributeMatch]) async throws -> AttributeCounts? {
        let any = try slots.routes.slot(for: collection.key("any"))
        guard let declared = any.derivedAttributes, collection.indexesAttributes else { return nil }
        guard let counted = any.route.backend as? any CountedBackend else { return nil }
        func query(_ name: String, _ text: String) -> StorageQuery { StorageQuery(collection.namespace, [.attribute(name, text)]) }
        let marked = StorageMetadata.versionText(collection.schemaVersion, isMarked: true)
        let queries =
            [
                StorageQuery(collection.namespace), query(StorageMetadata.versionAttribute, marked),
                query(StorageMetadata.derivedAttribute, declared.mark), query(StorageMetadata.expiresAttribute, "yes"),
            ] + matches.map { query($0.name, $0.text) }
        let counts = try await translating(collection.name, await counted.storedCounts(of: queries))
        guard let all = counts[0], counts[1] == all, counts[2] == all, let expiring = counts[3] else { return nil }
        let matching = counts.dropFirst(4).compactMap(\.self)
        return matching.count == matches.count ? AttributeCounts(expiring: expiring, matching: matching) : nil
    }

    // MARK: Pages

    /// Reads a page of the records that meet a condition.
    /// - Parameters:
    ///   - cursor: The end of the page before; nil for the first page.
    ///   - limit: The highest number of records in the page.
    ///   - size: The number of records to read for the page.
    ///   - onDamage: The handling of records that cannot be read.
    package func page(
        _ condition: Condition, after cursor: StorageCursor?, limit: Int, size: Int, onDamage: DamagePolicy
    ) async throws -> FoundPage<Record> {
        try Task.checkCancellation()
        if cursor == nil { try await reportUnreadable(onDamage) }
        var size = max(1, size)
        while true {
            let (page, next) = try await pages(condition).page(after: cursor, limit: size)
            var found = FoundPage<Record>(next: next, examined: page.entries.count)
            var damaged = page.damaged.map { ListEntry<Record>.damaged(page.record($0), reason: page.reason($0)) }
            var end: Int?
            for (index, entry) in page.entries.enumerated() where end == nil {
                do {
                    guard let record = try await read(entry, condition) else { continue }
                    if found.records.count == limit { end = index } else { found.records.append(record) }
                } catch let error as StorageError {
                    guard error.concernsOneRecord, let handle = DamagedRecord(page.domain, entry) else { throw error }
                    damaged.append(.damaged(handle, reason: error))
                }
            }
            // A cursor is only known for the end of a page of the store. A smaller page ends before the record that is too much.
            if let end {
                size = end
                continue
            }
            for entry in damaged { _ = try await onDamage.value(of: entry, history.events) }
            return found
        }
    }

    private func pages(_ condition: Condition) -> RecordPages {
        let filter = condition.label.map { RecordFilter.attribute($0.name, $0.text) } ?? .all
        return RecordQueries(engine: engine).pages(collection, filter)
    }

    /// Returns the record of an entry; nil if it has expired or does not meet the condition. A record is not decoded if
    /// its attributes show that it does not meet the condition.
    private func read(_ entry: StoragePage.Entry, _ condition: Condition) async throws -> FoundRecord<Record>? {
        let slot = try slots.routes.slot(for: collection.key(entry.address.name))
        guard let record = entry.record else { throw slot.route.damaged(entry) }
        if coder.isExpired(record) { return nil }
        if !condition.matches.isEmpty, slot.derivedAttributes != nil, !coder.lacksDerivedAttributes(record.metadata, slot),
            !condition.matches.allSatisfy({ record.metadata.attributes[$0.name] == $0.text })
        {
            return nil
        }
        let value = try await coder.decode(record, slot)
        return condition.isWanted(value) ? FoundRecord(id: slot.name, value: value, revision: record.revision) : nil
    }

    /// Reports the records in legacy locations that cannot be read.
    /// - Throws: As `onDamage` specifies.
    package func reportUnreadable(_ onDamage: DamagePolicy) async throws {
        for failure in unreadable {
            guard let damaged = failure.damaged else { continue }
            _ = try await onDamage.value(of: ListEntry<Record>.damaged(damaged, reason: failure.error), history.events)
        }
    }
}

/// Removes many records of a collection.
struct RecordRemover<Record: Codable & Sendable>: EnginePart, Sendable {
    let engine: Engine
    let collection: StorageCollection<Record>

    /// Removes records in one commit, if none of them has changed since it was read.
    /// - Returns: Whether they were removed; false means that the store cannot do that, or that a record has changed.
    func removeTogether(_ records: [(id: String, revision: StorageRevision)]) async throws -> Bool {
        let changes = try records.map { record in
            BatchWriter.Change(
                try slots.routes.slot(for: collection.key(record.id)).untyped, nil, if: .revision(record.revision))
        }
        guard let first = changes.first else { return true }
        guard first.slot.route.capabilities.atomicBatch else { return false }
        return try await slots.unbroken {
            do { try await BatchWriter(engine: engine).commit(changes) } catch is ChangedMeanwhile { return false }
            return true
        }
    }

    /// Removes every record of the collection, whether it can be decoded or not. Records whose bytes are damaged remain.
    func removeAll(_ unreadable: [RecordWork.Failure], onDamage: DamagePolicy) async throws {
        let pages = RecordQueries(engine: engine).pages(collection, .all)
        var damaged = unreadable.compactMap { failure in failure.damaged.map { ListEntry<Record>.damaged($0, reason: failure.error) } }
        var removed = 0
        do {
            for try await page in pages {
                try Task.checkCancellation()
                let records = page.entries.compactMap { entry in entry.record.map { (id: entry.address.name, revision: $0.revision) } }
                let areRemoved = try await removeTogether(records)
                for record in records {
                    let slot = try slots.routes.slot(for: collection.key(record.id))
                    if !areRemoved { try await ValueWriter(engine: engine).remove(slot) }
                    removed += 1
                }
                for entry in page.entries where entry.record == nil {
                    guard let handle = DamagedRecord(page.domain, entry) else { continue }
                    let route = try slots.routes.slot(for: collection.key(entry.address.name)).route
                    damaged.append(.damaged(handle, reason: route.damaged(entry)))
                }
                damaged += page.damaged.map { .damaged(page.record($0), reason: page.reason($0)) }
            }
            // A record that was removed earlier may be in a legacy location again.
            try await removeOlder(except: Set(unreadable.compactMap(\.damaged?.name)))
        } catch let error as StorageError { throw error.after(removed) }
        for entry in damaged { _ = try await onDamage.value(of: entry, history.events) }
    }

    /// Removes the records that are in the legacy locations of the collection, and the lists from which it takes records. A record that is
    /// only in the collection is left out.
    /// - Parameter damaged: The names of records that stay.
    func removeOlder(except damaged: Set<String> = []) async throws {
        func names<Older: TypedCollection>(in older: Older) async throws -> [String] {
            let older = older.typed
            return try await Listing(engine: engine).slots(in: older.domain, older.namespace, name: older.name).addresses.map(\.name)
        }
        let writer = ValueWriter(engine: engine)
        var (found, seen, open): (Set<String>, Set<PhysicalSlot>, [AnyStorageKey]) = ([], [], [.collection(collection)])
        while let next = open.popLast() {
            let slot = try slots.routes.route(for: next).slot
            for location in seen.insert(slot).inserted ? next.legacyLocations : [] {
                if let older = location.collection {
                    found.formUnion(try await names(in: older))
                    open.append(location)
                } else {
                    // The list is removed before the records, because the removal of a record would split it.
                    try await removeList(location, of: slot, writer)
                }
            }
        }
        for name in found.subtracting(damaged).sorted() { try await writer.remove(try slots.routes.slot(for: collection.key(name))) }
    }

    /// Removes the list from which a collection takes its records.
    /// - Throws: ``StorageError`` with `residueRemains` if another key or collection still takes values from the list.
    private func removeList(_ list: AnyStorageKey, of collection: PhysicalSlot, _ writer: ValueWriter) async throws {
        func remove(_ key: some TypedKey) async throws { try await writer.remove(try slots.routes.slot(for: key.typed)) }
        if let other = try await executor.neededBy(try slots.routes.route(for: list).slot, except: collection) {
            throw StorageError(.residueRemains, key: list.name, "\(other) still takes its value from \(list.name). Sweep, and try again.")
        }
        try await remove(list.base)
    }
}
