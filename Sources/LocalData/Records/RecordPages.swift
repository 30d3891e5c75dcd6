import BackendContract

/// A part of the records that answer a query.
struct RecordPage: Sendable {
    let domain: StorageDomain
    /// The name of the collection, for errors.
    let collection: String
    let entries: [StoragePage.Entry]
    /// Damaged slots that may be among the records, and whose names are lost.
    let damaged: [DamagedSlot]

    /// The entries, for callers that need all records or none.
    /// - Throws: ``StorageError`` with `corrupted` when one of the records has lost its name.
    func requireWhole() throws -> [StoragePage.Entry] {
        if let first = damaged.first { throw reason(first) }
        return entries
    }

    /// What callers are told of a damaged slot without a name.
    func record(_ slot: DamagedSlot) -> DamagedRecord { DamagedRecord(domain, .nameless(slot.handle)) }

    /// The error of a damaged slot without a name.
    func reason(_ slot: DamagedSlot) -> StorageError { .damaged(slot.corruption, of: collection, in: domain) }
}

extension StorageError {
    /// The error of a damaged slot without a name.
    static func damaged(_ corruption: StorageCorruption, of name: String, in domain: StorageDomain) -> StorageError {
        StorageError(
            StorageError.corrupted, key: name,
            "A record in \(domain) is damaged, and its name with it (\(corruption.reason)). Its bytes are kept: export it, set it aside or remove it by its handle."
        )
    }
}

/// A walk through the records that answer a query: one page is held at a time.
struct RecordPages: AsyncSequence, Sendable {
    typealias Element = RecordPage
    typealias Failure = any Error

    let routes: RouteTable
    let domain: StorageDomain
    let collection: String
    let query: StorageQuery
    let size: Int

    func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    struct Iterator: AsyncIteratorProtocol {
        let pages: RecordPages
        private var cursor: StorageCursor?
        private var isOver = false

        init(pages: RecordPages) { self.pages = pages }

        mutating func next() async throws -> RecordPage? {
            while !isOver {
                let (domain, backend) = try pages.routes.backend(for: pages.domain, key: pages.collection)
                let page = try await translatingErrors(key: pages.collection) { [pages, cursor] () throws(BackendError) in
                    try await backend.page(pages.query, after: cursor, limit: pages.size)
                }
                cursor = page.next
                isOver = page.next == nil
                if page.entries.isEmpty, page.damaged.isEmpty { continue }
                return RecordPage(domain: domain, collection: pages.collection, entries: page.entries, damaged: page.damaged)
            }
            return nil
        }
    }
}

/// Asks for the records that a collection's own place holds.
struct RecordQueries: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// The records of a collection's type that fulfil a filter, page by page, whether they have expired or not.
    func pages<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, typeTag: String? = nil) -> RecordPages {
        pages(collection, query(collection, filter, typeTag))
    }

    func pages<Record>(_ collection: StorageCollection<Record>, _ query: StorageQuery) -> RecordPages {
        RecordPages(routes: env.routes, domain: collection.domain, collection: collection.name, query: query, size: env.pageSize)
    }

    private func query<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, _ typeTag: String?) -> StorageQuery {
        StorageQuery(collection.namespace, filter.conditions + [.typeTag(typeTag ?? collection.typeTag)])
    }

    /// How many records of its type a collection's own place holds, without those that have expired.
    func count<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter) async throws -> Int {
        let mortal = RecordFilter.attribute(StorageMetadata.expiresAttribute, "yes").and(filter)
        var expired = 0
        if try await countAll(collection, mortal) > 0 {
            let now = env.now
            for try await page in pages(collection, mortal) {
                expired += page.entries.count { $0.record?.metadata.isExpired(at: now) == true }
            }
        }
        // A sweep may have purged some of them since.
        return max(0, try await countAll(collection, filter) - expired)
    }

    /// How many records of a collection are stored in the shape of a version.
    func count<Record>(_ collection: StorageCollection<Record>, version: Int) async throws -> Int {
        try await count(collection, .version(version))
    }

    /// How many records are stored with a type's tag.
    func countAll<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, typeTag: String? = nil) async throws -> Int {
        let (_, backend) = try env.routes.backend(for: collection.domain, key: collection.name)
        let query = query(collection, filter, typeTag)
        return try await translatingErrors(key: collection.name) { () throws(BackendError) in try await backend.count(query) }
    }
}

extension RecordFilter {
    /// The records that are stored in the shape of a version.
    static func version(_ version: Int) -> RecordFilter { attribute(StorageMetadata.versionAttribute, String(version)) }
}
