import BackendContract
import BackendRuntime

/// The records of a collection: see ``StorageRouter/storedRecords(in:_:)``.
struct RecordSequence<Record: Codable & Sendable>: AsyncSequence, Sendable {
    typealias Element = StoredValue<Record>
    typealias Failure = any Error

    let engine: MigrationEngine
    let collection: StorageCollection<Record>
    let filter: RecordFilter

    func makeAsyncIterator() -> Iterator { Iterator(engine: engine, collection: collection, filter: filter) }

    /// One walk through the records. It holds one page at a time.
    struct Iterator: AsyncIteratorProtocol {
        private let engine: MigrationEngine
        private let collection: StorageCollection<Record>
        private let filter: RecordFilter
        private var pages: RecordPages.Iterator?
        private var page: ArraySlice<StoragePage.Entry> = []
        private var isOver = false

        init(engine: MigrationEngine, collection: StorageCollection<Record>, filter: RecordFilter) {
            self.engine = engine
            self.collection = collection
            self.filter = filter
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
                _ = try engine.routes.entryRoute(for: collection.placeholder)
                try await engine.isGathered(collection)
                pages = engine.pages(collection, filter).makeAsyncIterator()
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
            let key = collection.key(entry.address.name)
            let route = try engine.routes.route(for: key)
            guard let record = entry.record else { throw route.damaged(entry) }
            if record.metadata.isExpired(at: engine.runtime.clock.wallSeconds) { return nil }
            let value = try await engine.records.decode(record, key, route)
            return StoredValue(id: key.name, value: value, record.metadata, isExpired: false)
        }
    }
}
