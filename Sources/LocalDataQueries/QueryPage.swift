/// The records of one page of a query, and the position of the next page.
///
/// The call `page(in:where:orderedBy:size:after:onDamage:)` of the router returns it. Use pages for a list that loads more
/// records when the user scrolls.
///
/// ```swift
/// let page = try await storage.page(in: notes, where: .all, orderedBy: .ascending(\.title), size: 50)
/// for note in page.records { print(note.title) }
/// print(page.cursor == nil ? "This is the last page." : "There may be more notes.")
/// ```
public struct QueryPage<Record: Sendable>: Sendable {
    /// The records of the page, in the order of the query. The last page may have none.
    public let records: [Record]
    /// The position after the page, for the next page; nil on the last page.
    public let cursor: QueryCursor?
}

/// The position after a page of a query, with which the next page is read.
///
/// A service can send it to a client, which sends it back for the next page.
///
/// ```swift
/// let cursor = QueryCursor(bytes: Array(Data(base64Encoded: text) ?? Data()))  // from a client that got Data(cursor.bytes)
/// do {
///     print(try await storage.page(in: notes, where: \.tag == "work", size: 50, after: cursor).records.count)
/// } catch StorageError.unsupported { print("The cursor is not valid. Send the first page.") }
/// ```
///
/// Pass it with the same collection, condition and order. The cursor of a query without an order contains a position of the
/// store: in a property list or in memory the id of a record, and in an encrypted database keyed hashes. It remains valid
/// until the keys of the database change. The cursor of a query with an order contains the values that the last record
/// has in the order, encrypted with a key that only the router has. It is valid for that router.
public struct QueryCursor: Hashable, Sendable, Codable {
    /// The bytes of the cursor. They can be stored, and sent to a client.
    public let bytes: [UInt8]

    /// Creates a cursor from the bytes of another one.
    ///
    /// ```swift
    /// let cursor = QueryCursor(bytes: Array(Data(base64Encoded: text) ?? Data()))  // from a client that got Data(cursor.bytes)
    /// do {
    ///     print(try await storage.page(in: notes, where: \.tag == "work", size: 50, after: cursor).records.count)
    /// } catch StorageError.unsupported { print("The cursor is not valid. Send the first page.") }
    /// ```
    public init(bytes: [UInt8]) { self.bytes = bytes }
}
