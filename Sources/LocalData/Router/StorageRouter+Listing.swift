import BackendContract

/// Lists of records and names.
extension StorageRouter {
    // MARK: Records

    /// Returns the records of a collection, read a page at a time, in no particular order. A record that exists during
    /// the whole enumeration is returned exactly once.
    ///
    /// Records in legacy locations, where earlier versions of the program kept them, are first moved to the collection.
    /// If the collection has a record of the same id, the other record is not moved. A sweep (``sweep(_:progress:)``)
    /// resolves this conflict. Records of earlier versions are returned in the current version, and a sweep writes them
    /// back.
    ///
    /// ```swift
    /// do {
    ///     for try await note in storage.records(in: notes, .attribute("folder", "inbox")) { show(note.title) }
    /// } catch StorageError.corrupted {
    ///     // A damaged note has ended the list. To list the others, pass `onDamage: .skip` or `.report`.
    /// }
    /// ```
    /// - Parameters:
    ///   - collection: The collection.
    ///   - filter: A filter for the records.
    ///   - onDamage: The handling of damaged records.
    /// - Returns: A sequence. It throws ``StorageError`` when the store or a legacy location cannot be read, and as
    ///   `onDamage` specifies.
    public nonisolated func records<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all, onDamage: DamagePolicy = .throw
    ) -> some AsyncSequence<Record, any Error> & Sendable {
        storedRecords(in: collection, filter, onDamage: onDamage).map(\.value)
    }

    /// Returns the records of a collection with their metadata, such as attributes and times. See
    /// ``records(in:_:onDamage:)``.
    ///
    /// ```swift
    /// for try await stored in storage.storedRecords(in: notes, .syncStatus(.notSynced)) {
    ///     print(stored.id, stored.modifiedAt?.formatted() ?? "unknown", stored.syncStatus == .notSynced)
    /// }
    /// ```
    public nonisolated func storedRecords<Record>(
        in collection: StorageCollection<Record>, _ filter: RecordFilter = .all, onDamage: DamagePolicy = .throw
    ) -> some AsyncSequence<StoredValue<Record>, any Error> & Sendable {
        RecordSequence(router: self, collection: collection, filter: filter, onDamage: onDamage)
    }

    /// Returns the number of records of a collection, including those that cannot be read.
    ///
    /// Records in legacy locations are first moved to the collection, unless the collection has a record of the same
    /// id. Such a conflict is not resolved.
    ///
    /// ```swift
    /// let waiting = try await storage.count(in: notes, .syncStatus(.notSynced))
    /// show("\(waiting) notes are not synchronized yet.")
    /// ```
    /// - Throws: ``StorageError`` when not all records can be counted.
    @concurrent
    public nonisolated func count<Record>(in collection: StorageCollection<Record>, _ filter: RecordFilter = .all) async throws -> Int {
        try await call("count", collection) {
            _ = try entry(collection.placeholder)
            let gathered = try await gathering(collection)
            return try await gathered.router.recordQueries.count(collection, filter) + gathered.unreadable.count
        }
    }

    // MARK: Names

    /// Returns the names of the values in a domain, sorted. Values of other programs are included, removed values are
    /// not.
    ///
    /// ```swift
    /// do {
    ///     print(try await storage.names(of: .userDefaults(suite: "com.example.weather")))
    ///     print(try await storage.names(of: editor.domain, collection: "notes", onDamage: .skip))
    /// } catch StorageError.unavailable {
    ///     // The store cannot be read, so the names are unknown.
    /// }
    /// ```
    /// - Parameters:
    ///   - domain: The domain.
    ///   - collection: The name of a collection, to list the ids of its records instead of the names of single values.
    ///   - onDamage: The handling of damaged values. Some damaged values have lost their names. A value in a locked
    ///     collection of a keyring, other than the default one, counts as damaged if its name cannot be read. Its error
    ///     has the code `locked`.
    /// - Throws: ``StorageError`` when the store cannot be read, and as `onDamage` specifies.
    @concurrent
    public nonisolated func names(
        of domain: StorageDomain, collection: String? = nil, onDamage: DamagePolicy = .throw
    ) async throws -> [String] {
        try await call("names", domain) {
            var names: [String] = []
            for entry in try await Listing(engine: engine).names(in: domain, collection.map { .collection($0) } ?? .values) {
                if let name = try await onDamage.value(of: entry, history.events) { names.append(name) }
            }
            return names
        }
    }
}
