/// What a check of a whole encrypted database has found.
public struct IntegrityReport: Hashable, Sendable, Codable {
    /// How many transactions were committed since the database was made; nil when its sealed state is missing or does not open.
    public var commits: Int64?
    /// The number of rows in the file: values and removals, in all namespaces.
    public var rows: Int
    /// The number of rows that were written and not removed, by the sealed state; nil when it is missing or does not open.
    public var expectedRows: Int?
    /// Whether the rows are exactly those that were written last. False when a row was replaced by an older one, removed, added or changed
    /// behind the library's back, and when ``commits`` is nil.
    public var areRowsWhole: Bool
    /// The number of rows that do not open, or that no read finds. Listing a domain gives a handle for each.
    public var damagedRows: Int
    /// The number of rows that name a destroyed key. They cannot be opened any more, so they cannot be checked either.
    public var rowsOfDestroyedKeys: Int
    /// The number of labels of values whose entries are not those that were written, and of entries that are missing or too many.
    public var damagedLabels: Int

    /// Whether nothing is wrong.
    public var isSound: Bool { areRowsWhole && damagedRows == 0 && damagedLabels == 0 }

    /// Creates a report.
    public init(
        commits: Int64?, rows: Int, expectedRows: Int?, areRowsWhole: Bool, damagedRows: Int = 0, rowsOfDestroyedKeys: Int = 0,
        damagedLabels: Int = 0
    ) {
        self.commits = commits
        self.rows = rows
        self.expectedRows = expectedRows
        self.areRowsWhole = areRowsWhole
        self.damagedRows = damagedRows
        self.rowsOfDestroyedKeys = rowsOfDestroyedKeys
        self.damagedLabels = damagedLabels
    }
}

/// How far a check of a whole database is.
public struct IntegrityProgress: Hashable, Sendable {
    /// The number of rows that were checked.
    public var checked: Int
    /// The number of rows.
    public var total: Int

    /// Creates a measure.
    public init(checked: Int, total: Int) { (self.checked, self.total) = (checked, total) }
}

/// A store that can tell whether what it holds is exactly what was written.
package protocol VerifiableStore: Sendable {
    /// Checks everything, as of one moment.
    /// - Parameter progress: Called now and then, on a thread of the store.
    /// - Returns: Nil where there is no store yet.
    /// - Throws: ``BackendError`` when it cannot be checked.
    func verifyIntegrity(progress: @escaping @Sendable (IntegrityProgress) -> Void) async throws(BackendError) -> IntegrityReport?

    /// Takes what is there for what was written; durable when it returns.
    /// - Throws: ``BackendError``; nothing was changed then.
    func acceptContents() async throws(BackendError)
}

/// A store whose latest state is recorded elsewhere.
package protocol AnchoredStore: Sendable {
    /// Takes an older file for the latest; durable when it returns.
    /// - Throws: ``BackendError``; nothing was changed then.
    func acceptOlderFile() async throws(BackendError)
}
