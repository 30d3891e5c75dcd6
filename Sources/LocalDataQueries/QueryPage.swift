/// A page of the result of a query.
public struct QueryPage<Record: Sendable>: Sendable {
    /// The records of the page, in the order of the query. The last page may have none.
    public let records: [Record]
    /// The position after the page, for the next page; nil on the last page.
    public let cursor: QueryCursor?
}

/// The position after a page of a query.
///
/// Pass it with the same collection, condition and order. The cursor of a query without an order contains a position of the
/// store: in a property list or in memory the id of a record, and in an encrypted database keyed hashes. It remains valid
/// until the keys of the database change. The cursor of a query with an order contains the values that the last record
/// has in the order, encrypted with a key that only the router has. It is valid for that router.
public struct QueryCursor: Hashable, Sendable, Codable {
    /// The bytes of the cursor. They can be stored, and sent to a client.
    public let bytes: [UInt8]

    /// Creates a cursor from the bytes of another one.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}
