public import LocalData

/// A query for records of a collection: a condition, an order, and a limit.
///
/// Use it to run the same query several times, or to show its records in a view: see `StoredRecords` of
/// `LocalDataObservation`.
///
/// ```swift
/// let query = RecordQuery(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 20)
/// do { print(try await storage.records(query).map(\.title)) } catch StorageError.locked {
///     print("The key of the database is locked, so the notes are unknown. Call `unlock`.")
/// }
/// ```
public struct RecordQuery<Record: Codable & Sendable>: Sendable {
    /// The collection.
    public var collection: StorageCollection<Record>
    /// The condition that the records meet.
    public var predicate: RecordPredicate<Record>
    /// The order of the records; nil for the order of the store.
    public var order: RecordOrder<Record>?
    /// The highest number of records; nil for all of them.
    public var limit: Int?

    /// Creates a query.
    ///
    /// ```swift
    /// let query = RecordQuery(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 20)
    /// do { print(try await storage.records(query).map(\.title)) } catch StorageError.locked {
    ///     print("The key of the database is locked, so the notes are unknown. Call `unlock`.")
    /// }
    /// ```
    /// - Parameters:
    ///   - collection: The collection.
    ///   - predicate: The condition that the records meet.
    ///   - order: The order of the records; nil for the order of the store.
    ///   - limit: The highest number of records; nil for all of them. A number below one finds no records.
    public init(
        in collection: StorageCollection<Record>, where predicate: RecordPredicate<Record> = .all,
        orderedBy order: RecordOrder<Record>? = nil,
        limit: Int? = nil
    ) {
        (self.collection, self.predicate, self.order, self.limit) = (collection, predicate, order, limit)
    }

    /// Returns whether a record meets the condition.
    package func matches(_ record: Record) -> Bool { predicate.matches(record) }

    /// Returns whether the query orders a record before another one. If the order does not decide, or if there is none,
    /// their ids decide. Two records without an id are not ordered.
    package func precedes(_ a: Record, _ b: Record) -> Bool {
        switch order?.compare(a, b) ?? .same {
        case .before: return true
        case .after: return false
        case .same:
            guard let first = try? collection.id(of: a), let second = try? collection.id(of: b) else { return false }
            return Self.precedes(first, second)
        }
    }

    /// Returns whether an id is smaller than another one, by its UTF-8 bytes.
    static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}
