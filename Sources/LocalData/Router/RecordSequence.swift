import BackendContract

/// The records of a collection: see ``StorageRouter/storedRecords(in:_:)``.
struct RecordSequence<Record: Codable & Sendable>: AsyncSequence, Sendable {
    typealias Element = StoredValue<Record>
    typealias Failure = any Error

    let router: StorageRouter
    let collection: StorageCollection<Record>
    let filter: RecordFilter

    func makeAsyncIterator() -> Iterator { Iterator(router: router, collection: collection, filter: filter) }

    /// One walk through the records. It holds one page at a time.
    struct Iterator: AsyncIteratorProtocol {
        private let router: StorageRouter
        private let collection: StorageCollection<Record>
        private let filter: RecordFilter
        private var pages: RecordPages.Iterator?
        /// Where the records are read.
        private var env: Environment
        private var page: ArraySlice<StoragePage.Entry> = []
        private var isOver = false

        init(router: StorageRouter, collection: StorageCollection<Record>, filter: RecordFilter) {
            self.router = router
            self.collection = collection
            self.filter = filter
            env = router.env
        }

        mutating func next() async throws -> StoredValue<Record>? {
            guard !isOver else { return nil }
            do {
                if let value = try await advance() { return value }
                isOver = true
                return nil
            } catch {
                isOver = true
                throw error
            }
        }

        private mutating func advance() async throws -> StoredValue<Record>? {
            try Task.checkCancellation()
            if pages == nil {
                _ = try router.entry(collection.placeholder)
                env = try await RecordGatherer(router.env).requireGathered(collection, router)
                pages = RecordQueries(env).pages(collection, filter).makeAsyncIterator()
            }
            while true {
                while let entry = page.popFirst() {
                    if let value = try await read(entry) { return value }
                }
                guard var pages, let next = try await pages.next() else { return nil }
                self.pages = pages
                page = next[...]
            }
        }

        private func read(_ entry: StoragePage.Entry) async throws -> StoredValue<Record>? {
            let slot = try env.routes.slot(for: collection.key(entry.address.name))
            guard let record = entry.record else { throw slot.route.damaged(entry) }
            if env.isExpired(record) { return nil }
            return StoredValue(id: slot.name, value: try await env.coder.decode(record, slot), record.metadata, isExpired: false)
        }
    }
}
