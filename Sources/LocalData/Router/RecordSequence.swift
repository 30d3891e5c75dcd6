import BackendContract

/// The records of a collection: see ``StorageRouter/storedRecords(in:_:onDamage:)``.
struct RecordSequence<Record: Codable & Sendable>: AsyncSequence, Sendable {
    typealias Element = StoredValue<Record>
    typealias Failure = any Error

    let router: StorageRouter
    let collection: StorageCollection<Record>
    let filter: RecordFilter
    let onDamage: DamagePolicy

    func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// One enumeration of the records. It holds one page at a time.
    struct Iterator: AsyncIteratorProtocol {
        private let router: StorageRouter
        private let collection: StorageCollection<Record>
        private let filter: RecordFilter
        private let onDamage: DamagePolicy
        private var pages: RecordPages.Iterator?
        /// The router that reads the records. If the store is full or read-only, records in legacy locations cannot be
        /// moved. Then this is the router of a rehearsal: a run that only records writes.
        private var reader: StorageRouter
        /// The entries that were read but not returned yet, in reverse order: the next one is last.
        private var waiting: [ListEntry<StoredValue<Record>>] = []
        private var isOver = false

        init(_ sequence: RecordSequence) {
            (router, collection, filter, onDamage) = (sequence.router, sequence.collection, sequence.filter, sequence.onDamage)
            reader = router
        }

        mutating func next() async throws -> StoredValue<Record>? {
            guard !isOver else { return nil }
            do {
                while let entry = try await advance() {
                    if let value = try await onDamage.value(of: entry, reader.history.events) { return value }
                }
                isOver = true
                return nil
            } catch {
                isOver = true
                throw error is CancellationError ? StorageError.cancelled(collection.name) : error
            }
        }

        private mutating func advance() async throws -> ListEntry<StoredValue<Record>>? {
            try Task.checkCancellation()
            if pages == nil {
                let gathered = try await router.call("records", collection) { [router, collection] in
                    _ = try router.entry(collection.placeholder)
                    return try await router.gathering(collection)
                }
                reader = gathered.router
                for failure in gathered.unreadable {
                    if let damaged = failure.damaged { waiting.append(.damaged(damaged, reason: failure.error)) }
                }
                waiting.reverse()
                pages = reader.recordQueries.pages(collection, filter).makeAsyncIterator()
            }
            while true {
                if let entry = waiting.popLast() { return entry }
                guard var pages, let page = try await router.call("records", collection, { try await pages.next() }) else { return nil }
                self.pages = pages
                try await take(page)
            }
        }

        /// Reads a page. A damaged record becomes an entry and does not end the enumeration.
        private mutating func take(_ page: RecordPage) async throws {
            for entry in page.entries {
                do { if let value = try await read(entry) { waiting.append(.value(value)) } } catch let error as StorageError {
                    guard error.concernsOneRecord, let damaged = DamagedRecord(page.domain, entry) else { throw error }
                    waiting.append(.damaged(damaged, reason: error))
                }
            }
            for slot in page.damaged { waiting.append(.damaged(page.record(slot), reason: page.reason(slot))) }
            waiting.reverse()
        }

        private func read(_ entry: StoragePage.Entry) async throws -> StoredValue<Record>? {
            let slot = try reader.slots.routes.slot(for: collection.key(entry.address.name))
            guard let record = entry.record else { throw slot.route.damaged(entry) }
            if reader.coder.isExpired(record) { return nil }
            return StoredValue(id: slot.name, value: try await reader.coder.decode(record, slot), record.metadata, isExpired: false)
        }
    }
}
