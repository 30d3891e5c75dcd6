import BackendContract

/// A page of the records that match a query.
struct RecordPage: Sendable {
    let domain: StorageDomain
    /// The name of the collection, for errors.
    let collection: String
    let entries: [StoragePage.Entry]
    /// Damaged slots whose names are lost. Their records may match the query.
    let damaged: [DamagedSlot]

    /// Returns the entries, for callers that need all records or none.
    /// - Throws: ``StorageError`` with `corrupted` if there is a damaged slot without a name.
    func requireWhole() throws -> [StoragePage.Entry] {
        if let first = damaged.first { throw reason(first) }
        return entries
    }

    /// Returns the ``DamagedRecord`` with which callers identify a damaged slot without a name.
    func record(_ slot: DamagedSlot) -> DamagedRecord { DamagedRecord(domain, .nameless(slot.handle)) }

    /// Returns the error for a damaged slot without a name.
    func reason(_ slot: DamagedSlot) -> StorageError { .damaged(slot.corruption, of: collection, in: domain) }
}

extension StorageError {
    /// Returns the error for a damaged slot without a name.
    static func damaged(_ corruption: StorageCorruption, of name: String, in domain: StorageDomain) -> StorageError {
        StorageError(
            StorageError.corrupted, key: name,
            "A record in \(domain) is damaged, and its name cannot be read (\(corruption.reason)). Its bytes are kept: export it, set it aside or remove it by its handle."
        )
    }
}

/// The records that match a query, as a sequence of pages. Only one page is in memory at a time.
struct RecordPages: AsyncSequence, Sendable {
    typealias Element = RecordPage
    typealias Failure = any Error

    let routes: RouteTable
    let domain: StorageDomain
    let collection: String
    let query: StorageQuery
    let size: Int
    /// Returns the route of a record, if each record has a separate seal. Nil if the answers of the store need no verification.
    let sealed: (@Sendable (StorageAddress) throws -> Route)?

    /// Returns the function `route` if each record has a separate seal, in a store that does not encrypt records itself; otherwise nil.
    /// - Parameter route: Returns the route of a record.
    static func sealed(_ route: @escaping @Sendable (StorageAddress) throws -> Route) -> (@Sendable (StorageAddress) throws -> Route)? {
        guard let any = try? route(StorageAddress("any")), any.judge != nil, !any.capabilities.sealsNames else { return nil }
        return route
    }

    func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    struct Iterator: AsyncIteratorProtocol {
        let pages: RecordPages
        private var cursor: StorageCursor?
        private var isOver = false

        init(pages: RecordPages) { self.pages = pages }

        mutating func next() async throws -> RecordPage? {
            while !isOver {
                let (page, next) = try await pages.page(after: cursor, limit: pages.size)
                cursor = next
                isOver = next == nil
                if page.entries.isEmpty, page.damaged.isEmpty { continue }
                return page
            }
            return nil
        }
    }

    /// Reads one page. It may be empty even if it is not the last one.
    /// - Parameters:
    ///   - cursor: The end of the previous page; nil for the first page.
    ///   - limit: The maximum number of records.
    /// - Returns: The page and its end. The end is nil for the last page.
    func page(after cursor: StorageCursor?, limit: Int) async throws -> (page: RecordPage, next: StorageCursor?) {
        let (domain, backend) = try routes.backend(for: self.domain, key: collection)
        let page = try await translating(collection, await backend.page(asked, after: cursor, limit: limit))
        let entries = try await proven(page.entries)
        return (RecordPage(domain: domain, collection: collection, entries: entries, damaged: page.damaged), page.next)
    }

    /// The query that is sent to the store. It has no conditions if each record has a separate seal: the metadata of such a record counts
    /// only after its seal was opened, and the store cannot open it.
    /// Reason: "A store is queried without conditions on sealed records" in Docs/Decisions/Sealing.md.
    private var asked: StorageQuery { sealed == nil ? query : StorageQuery(query.namespace) }

    /// Verifies the entries by their seals, and returns those that match the query. An entry is returned whatever the conditions if it is
    /// damaged, has no seal, or was sealed with another key.
    /// - Throws: ``StorageError`` if the key for a seal is not available.
    private func proven(_ entries: [StoragePage.Entry]) async throws -> [StoragePage.Entry] {
        guard let sealed else { return entries }
        var proven: [StoragePage.Entry] = []
        for entry in entries {
            guard let record = entry.record else {
                proven.append(entry)
                continue
            }
            switch try await sealed(entry.address).judgement(of: .value(record)) {
            case .proven(.value(let known)) where record.metadata.sealing == nil:
                proven.append(StoragePage.Entry(entry.address, .record(known)))
            case .proven(let probe):
                let judged = try await translatingErrors(key: collection) { () throws(BackendError) in try query.entry(entry.address, probe)
                }
                if let judged { proven.append(judged) }
            case .unproven(let probe, let error):
                let reason = StorageError.from(error, key: collection)
                guard (reason as? StorageError)?.code == StorageError.encryptionKeyMismatch else { throw reason }
                proven.append(StoragePage.Entry(entry.address, .record(probe.record ?? record)))
            }
        }
        return proven
    }
}

/// Queries the records that are stored in a collection. Legacy locations are not read.
struct RecordQueries: EnginePart, Sendable {
    let engine: Engine

    /// Returns the records of a collection that match a filter, page by page, including expired ones.
    /// - Parameter typeTag: The type tag of the records; nil for all records of the collection.
    func pages<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, typeTag: String? = nil) -> RecordPages {
        pages(collection, query(collection, filter, typeTag))
    }

    func pages<Record>(_ collection: StorageCollection<Record>, _ query: StorageQuery) -> RecordPages {
        RecordPages(
            routes: slots.routes, domain: collection.domain, collection: collection.name, query: query, size: slots.pageSize,
            sealed: sealedPlaces(collection))
    }

    private func sealedPlaces<Record>(_ collection: StorageCollection<Record>) -> (@Sendable (StorageAddress) throws -> Route)? {
        RecordPages.sealed { [self] in try slots.routes.slot(for: collection.key($0.name)).route }
    }

    /// Returns the query that selects the records of a collection. A declared type tag is a condition.
    func query<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, _ typeTag: String? = nil) -> StorageQuery {
        let tag = typeTag ?? (collection.template.membership?.requiresTypeTag == true ? collection.typeTag : nil)
        return StorageQuery(collection.namespace, filter.conditions + (tag.map { [.typeTag($0)] } ?? []))
    }

    /// Returns the number of records of the collection's type that match a filter, without expired ones. Legacy locations do not count.
    func count<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter) async throws -> Int {
        let mortal = RecordFilter.attribute(StorageMetadata.expiresAttribute, "yes").and(filter)
        var expired = 0
        if try await countAll(collection, mortal) > 0 {
            let now = coder.now
            for try await page in pages(collection, mortal) {
                expired += page.entries.count { $0.record?.metadata.isExpired(at: now) == true }
            }
        }
        // A sweep may have purged some of the expired records since they were counted.
        return max(0, try await countAll(collection, filter) - expired)
    }

    /// Returns the number of records of a collection that are stored in the shape of a version.
    func count<Record>(_ collection: StorageCollection<Record>, version: Int) async throws -> Int {
        var count = 0
        for filter in RecordFilter.versions(version) { count += try await self.count(collection, filter) }
        return count
    }

    /// Returns the number of records that are stored with a type tag and match a filter, including expired ones.
    /// - Parameter typeTag: The type tag of the records; nil for all records of the collection.
    func countAll<Record>(_ collection: StorageCollection<Record>, _ filter: RecordFilter, typeTag: String? = nil) async throws -> Int {
        let (_, backend) = try slots.routes.backend(for: collection.domain, key: collection.name)
        let query = query(collection, filter, typeTag)
        if sealedPlaces(collection) != nil {
            var count = 0
            for try await page in pages(collection, query) { count += page.entries.count + page.damaged.count }
            return count
        }
        return try await translatingErrors(key: collection.name) { () throws(BackendError) in try await backend.count(query) }
    }
}

extension RecordFilter {
    /// Matches the records that are stored in the shape of a version.
    /// - Parameter isMarked: Whether the records have derived attributes.
    static func version(_ version: Int, isMarked: Bool = false) -> RecordFilter {
        attribute(StorageMetadata.versionAttribute, StorageMetadata.versionText(version, isMarked: isMarked))
    }

    /// Returns the filters that together match all records in the shape of a version: without and with derived attributes.
    static func versions(_ version: Int) -> [RecordFilter] { [false, true].map { self.version(version, isMarked: $0) } }
}
