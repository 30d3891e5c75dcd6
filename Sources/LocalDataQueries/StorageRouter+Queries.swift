public import LocalData

/// Queries for the records of a collection.
///
/// In an encrypted database, a condition `==` on a declared attribute finds its records by a label, so the time depends on the
/// number of records that have the value. Every other condition is checked on each record that is read, and an order needs
/// all records that meet the condition. No query needs memory for more than the records of its result and one page of the
/// store.
extension StorageRouter {
    // MARK: Reading

    /// Returns the records of a collection that meet a condition.
    ///
    /// ```swift
    /// do {
    ///     let work = try await storage.records(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 50)
    ///     print(work.map(\.title))
    /// } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to leave it out.") }
    /// ```
    ///
    /// Records in legacy locations are first moved to the collection. An expired record is not in the result. A record that
    /// changes during the call is in the result in its state before or after the change, or not at all.
    /// - Parameters:
    ///   - collection: The collection.
    ///   - predicate: The condition.
    ///   - order: The order of the records; nil for the order of the store.
    ///   - limit: The highest number of records; nil for all of them.
    ///   - onDamage: The handling of records that cannot be read, and so cannot be checked.
    /// - Throws: `StorageError` when the store or a legacy location cannot be read, and as `onDamage` specifies.
    @concurrent
    public nonisolated func records<Record>(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record>, orderedBy order: RecordOrder<Record>? = nil,
        limit: Int? = nil, onDamage: DamagePolicy = .throw
    ) async throws -> [Record] {
        try await records(RecordQuery(in: collection, where: predicate, orderedBy: order, limit: limit), onDamage: onDamage)
    }

    /// Returns the records of a query: see ``records(in:where:orderedBy:limit:onDamage:)``.
    ///
    /// ```swift
    /// let query = RecordQuery(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 20)
    /// do { print(try await storage.records(query).map(\.title)) } catch StorageError.locked {
    ///     print("The key of the database is locked, so the notes are unknown. Call `unlock`.")
    /// }
    /// ```
    @concurrent
    public nonisolated func records<Record>(_ query: RecordQuery<Record>, onDamage: DamagePolicy = .throw) async throws -> [Record] {
        if let limit = query.limit, limit < 1 { return [] }
        return try await run("records", query, onDamage) { try await $0.page(after: nil, limit: query.limit ?? .max).records }
    }

    /// Returns one page of the records of a collection that meet a condition.
    ///
    /// All pages together contain each record that does not change during the enumeration exactly once. Without an order, a
    /// page reads only its records. With an order, each page reads all records that meet the condition.
    ///
    /// ```swift
    /// do {
    ///     var cursor: QueryCursor?
    ///     repeat {
    ///         let page = try await storage.page(in: notes, where: \.tag == "work", size: 50, after: cursor)
    ///         for note in page.records { print(note.title) }
    ///         cursor = page.cursor
    ///     } while cursor != nil
    /// } catch StorageError.unsupported { print("The cursor is no longer valid. Begin with the first page.") }
    /// ```
    /// - Parameters:
    ///   - collection: The collection.
    ///   - predicate: The condition.
    ///   - order: The order of the records; nil for the order of the store.
    ///   - size: The highest number of records of the page, at least 1.
    ///   - cursor: The cursor of the page before, which has the same condition and order; nil for the first page.
    ///   - onDamage: The handling of records that cannot be read.
    /// - Throws: `StorageError`: `unsupported` for a cursor of another collection or order, and for one that is no longer valid. A cursor
    ///   of another condition is not always detected. `encodingFailed` if the values that decide the order cannot be encoded as JSON.
    @concurrent
    public nonisolated func page<Record>(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record>, orderedBy order: RecordOrder<Record>? = nil,
        size: Int, after cursor: QueryCursor? = nil, onDamage: DamagePolicy = .throw
    ) async throws -> QueryPage<Record> {
        let query = RecordQuery(in: collection, where: predicate, orderedBy: order)
        let start = try cursor.map { try QueryPosition($0, query, self) }
        return try await run("records", query, onDamage) { run in
            let (records, end) = try await run.page(after: start, limit: max(1, size))
            return QueryPage(records: records, cursor: try end?.cursor(self, collection))
        }
    }

    /// Returns the number of records of a collection that meet a condition.
    ///
    /// ```swift
    /// do {
    ///     print(try await storage.count(in: notes, where: \.tag == "work"))  // a stored count, if the attribute is declared
    ///     print(try await storage.count(in: notes, where: \.isDone == true))  // reads every note
    /// } catch StorageError.corrupted { print("A damaged note cannot be checked, so the number is unknown.") }
    /// ```
    ///
    /// If the condition is one `==` on a declared attribute, and no record of the collection may expire, an encrypted database
    /// answers from a stored count, which includes records whose bytes are damaged. Otherwise the records are read.
    /// - Throws: `StorageError` when not all records can be read, and as `onDamage` specifies.
    @concurrent
    public nonisolated func count<Record>(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record>, onDamage: DamagePolicy = .throw
    ) async throws -> Int {
        try await run("count", RecordQuery(in: collection, where: predicate), onDamage) { try await $0.count() }
    }

    /// Returns the first record of a collection that meets a condition; nil if there is none.
    ///
    /// ```swift
    /// do {
    ///     let next = try await storage.first(in: notes, where: \.isDone == false, orderedBy: .ascending(\.date))
    ///     print(next?.title ?? "Nothing is left to do.")
    /// } catch StorageError.corrupted { print("A damaged note may be the first one.") }
    /// ```
    /// - Parameters:
    ///   - collection: The collection.
    ///   - predicate: The condition. `.all` selects every record.
    ///   - order: The order that decides which record is the first; nil for any record.
    ///   - onDamage: The handling of damaged records.
    @concurrent
    public nonisolated func first<Record>(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record>, orderedBy order: RecordOrder<Record>? = nil,
        onDamage: DamagePolicy = .throw
    ) async throws -> Record? {
        try await records(in: collection, where: predicate, orderedBy: order, limit: 1, onDamage: onDamage).first
    }

    /// Returns whether a record of a collection meets a condition.
    ///
    /// ```swift
    /// do {
    ///     if try await storage.exists(in: notes, where: \.tag == "work") { print("Some notes have the tag.") }
    /// } catch StorageError.locked { print("It is unknown whether a note has the tag.") }
    /// ```
    @concurrent
    public nonisolated func exists<Record>(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record>, onDamage: DamagePolicy = .throw
    ) async throws -> Bool {
        try await first(in: collection, where: predicate, onDamage: onDamage) != nil
    }

    // MARK: Removing

    /// Removes the records of a collection that meet a condition, and every older copy of them.
    ///
    /// ```swift
    /// do {
    ///     let count = try await storage.removeAll(in: notes, where: \.isDone == true && \.date < day)
    ///     print("\(count) notes were removed.")
    /// } catch StorageError.corrupted { print("A damaged note was not removed. Others may be removed already.") }
    /// ```
    ///
    /// The records are removed in groups. Each group is one commit if the store supports that and no record of the group
    /// changes during the call. A record that has changed is removed only if it still meets the condition. The removals are
    /// durable when the call returns. After an interruption, repeat the call to remove the remaining records.
    /// - Parameters:
    ///   - collection: The collection.
    ///   - predicate: The condition.
    ///   - onDamage: The handling of records that cannot be read. They are not removed.
    /// - Returns: The number of removed records.
    /// - Throws: `StorageError`. Records that were removed before the error remain removed. `residueRemains` means that an
    ///   older copy of a removed record remains; a sweep deletes it. The outcome is then `unknown`: repeat the call.
    @concurrent
    @discardableResult
    public nonisolated func removeAll<Record>(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record>, onDamage: DamagePolicy = .throw
    ) async throws -> Int {
        let query = RecordQuery(in: collection, where: predicate)
        return try await run("removeAll", query, onDamage, isWriting: true) { run in
            var count = 0
            do {
                try await run.forEachPage { page in
                    count += try await self.remove(page, from: collection) { predicate.matches($0) }
                }
            } catch let error as StorageError { throw error.after(count) }
            return count
        }
    }

    /// Removes every record of a collection, and every older copy of it. This includes expired records, and records that
    /// cannot be decoded. Records whose stored bytes are damaged, and records of another type, remain.
    ///
    /// ```swift
    /// do { try await storage.clear(notes) } catch StorageError.corrupted { print("Damaged notes remain. The others were removed.") }
    /// ```
    ///
    /// The removals are durable when the call returns. After an interruption, repeat the call to remove the remaining
    /// records. A record that another task or process adds during the call may remain.
    /// - Parameters:
    ///   - collection: The collection.
    ///   - onDamage: The handling of damaged records, after all others are removed.
    /// - Throws: The errors of ``removeAll(in:where:onDamage:)``.
    @concurrent
    public nonisolated func clear<Record>(_ collection: StorageCollection<Record>, onDamage: DamagePolicy = .throw) async throws {
        try await removeAllRecords(of: collection, onDamage: onDamage)
    }

    private nonisolated func run<Record, R>(
        _ operation: String, _ query: RecordQuery<Record>, _ onDamage: DamagePolicy, isWriting: Bool = false,
        _ body: (QueryRun<Record>) async throws -> R
    ) async throws -> R {
        try await matching(operation, in: query.collection, isWriting: isWriting) { try await body(QueryRun($0, query, onDamage)) }
    }
}
