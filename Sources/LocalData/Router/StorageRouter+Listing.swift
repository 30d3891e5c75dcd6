import BackendContract

/// All records of a collection, all names of a domain: everything that can be read, and what is damaged as an entry of its own.
extension StorageRouter {
    // MARK: Records

    /// The records of a collection, a page at a time, in no particular order: those that are there from the first step to the last are met exactly once.
    ///
    /// A record that cannot be read is an entry of its own, and the others are not affected by it. Records in legacy locations are moved first, unless a record of
    /// their id is there already: that is left to a sweep. Records of an earlier shape are given in the present one; a sweep writes them back.
    /// - Parameters:
    ///   - collection: The collection.
    ///   - filter: Which of them.
    /// - Returns: A sequence that throws ``StorageError`` when the store, or a legacy location, cannot be read.
    public nonisolated func records<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all
    ) -> some AsyncSequence<ListEntry<Record>, any Error> & Sendable {
        storedRecords(in: collection, filter).map { entry in entry.map(\.value) }
    }

    /// The records of a collection with what is known of each beside its content: as ``records(in:_:)``.
    public nonisolated func storedRecords<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all
    ) -> some AsyncSequence<ListEntry<StoredValue<Record>>, any Error> & Sendable {
        RecordSequence(router: self, collection: collection, filter: filter)
    }

    /// The records of a collection, for a caller that needs all of them: as ``records(in:_:)``, but damage ends it.
    /// - Returns: A sequence that throws ``StorageError`` also at the first record that cannot be read, naming it.
    public nonisolated func allRecords<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all
    ) -> some AsyncSequence<Record, any Error> & Sendable {
        storedRecords(in: collection, filter).map { try $0.get().value }
    }

    /// The records of a collection with what is known of each beside its content, for a caller that needs all of them: as ``allRecords(in:_:)``.
    public nonisolated func allStoredRecords<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all
    ) -> some AsyncSequence<StoredValue<Record>, any Error> & Sendable {
        storedRecords(in: collection, filter).map { try $0.get() }
    }

    /// How many records a collection has, counting those that cannot be read.
    ///
    /// Records in legacy locations are moved first, unless a record of their id is there already: counting decides no conflict.
    /// - Throws: ``StorageError`` when they cannot all be counted.
    @concurrent
    public nonisolated func count<Record>(in collection: StorageCollection<Record>, _ filter: RecordFilter = .all) async throws -> Int {
        _ = try entry(collection.placeholder)
        let gathered = try await RecordGatherer(env).gatherBeforeReading(collection, self)
        return try await RecordQueries(gathered.env).count(collection, filter) + gathered.unreadable.count
    }

    // MARK: Names

    /// The names under which a domain holds values, whoever wrote them, sorted; then what is damaged and has lost its name. Removed values are not listed.
    /// - Parameters:
    ///   - domain: The domain.
    ///   - collection: The name of a collection, to list the ids of its records instead of the names of keys.
    /// - Throws: ``StorageError`` when the store cannot be read.
    @concurrent
    public nonisolated func names(in domain: StorageDomain, collection: String? = nil) async throws -> [ListEntry<String>] {
        try await Listing(env).names(in: domain, collection.map { .collection($0) } ?? .values)
    }

    /// The names under which a domain holds values, for a caller that needs all of them: as ``names(in:collection:)``, but damage fails it.
    /// - Throws: ``StorageError`` when the names cannot all be listed: an incomplete list is never returned.
    @concurrent
    public nonisolated func allNames(in domain: StorageDomain, collection: String? = nil) async throws -> [String] {
        try await names(in: domain, collection: collection).map { try $0.get() }
    }
}
