import BackendContract

/// Lists of records and names.
extension StorageRouter {
    // MARK: Records

    /// The records of a collection, a page at a time, in no particular order. Records that exist from the first step to the last are returned exactly once.
    ///
    /// Records in legacy locations are moved first, unless a record of their id exists already: a sweep resolves that conflict. Records of an earlier
    /// shape are returned in the current one; a sweep writes them back.
    /// - Parameters:
    ///   - collection: The collection.
    ///   - filter: Which of its records.
    ///   - onDamage: What happens when a record is damaged.
    /// - Returns: A sequence that throws ``StorageError`` when the store, or a legacy location, cannot be read, and as `onDamage` says.
    public nonisolated func records<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all, onDamage: DamagePolicy = .throw
    ) -> some AsyncSequence<Record, any Error> & Sendable {
        storedRecords(in: collection, filter, onDamage: onDamage).map(\.value)
    }

    /// The records of a collection with their metadata, such as attributes and times: as ``records(in:_:onDamage:)``.
    public nonisolated func storedRecords<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all, onDamage: DamagePolicy = .throw
    ) -> some AsyncSequence<StoredValue<Record>, any Error> & Sendable {
        RecordSequence(router: self, collection: collection, filter: filter, onDamage: onDamage)
    }

    /// How many records a collection has, counting those that cannot be read.
    ///
    /// Records in legacy locations are moved first, unless a record of their id is there already: counting decides no conflict.
    /// - Throws: ``StorageError`` when they cannot all be counted.
    @concurrent
    public nonisolated func count<Record>(in collection: StorageCollection<Record>, _ filter: RecordFilter = .all) async throws -> Int {
        try await Self.cancellable(collection.name) {
            _ = try entry(collection.placeholder)
            let gathered = try await RecordGatherer(env).gatherBeforeReading(collection, self)
            return try await RecordQueries(gathered.env).count(collection, filter) + gathered.unreadable.count
        }
    }

    // MARK: Names

    /// The names of the values in a domain, sorted, whichever program wrote them. Removed values are not listed.
    /// - Parameters:
    ///   - domain: The domain.
    ///   - collection: The name of a collection, to list the ids of its records instead of the names of single values.
    ///   - onDamage: What happens when a value is damaged. Some damaged values have lost their names.
    /// - Throws: ``StorageError`` when the store cannot be read, and as `onDamage` says.
    @concurrent
    public nonisolated func names(
        of domain: StorageDomain, collection: String? = nil, onDamage: DamagePolicy = .throw
    ) async throws -> [String] {
        try await Self.cancellable("\(domain)") {
            var names: [String] = []
            for entry in try await Listing(env).names(in: domain, collection.map { .collection($0) } ?? .values) {
                if let name = try await onDamage.value(of: entry, env) { names.append(name) }
            }
            return names
        }
    }
}
