/// The result of an integrity check of an encrypted database: whether it contains exactly the rows that the library
/// wrote.
///
/// `verifyIntegrity(of:progress:)` of the product `LocalDataBackup` returns it.
///
/// ```swift
/// if !report.isSound {
///     print("\(report.damagedRows) damaged rows; \(report.rows) rows instead of \(report.expectedRows.map(String.init) ?? "?")")
/// }
/// ```
public struct IntegrityReport: Hashable, Sendable, Codable {
    /// The number of committed transactions since the database was created. The database keeps it in an encrypted record, the state record.
    /// Nil if that record is missing or cannot be decrypted.
    public var commits: Int64?
    /// The number of rows in the file, in all namespaces. A row is a value or a tombstone, the record of a removal.
    public var rows: Int
    /// The number of rows according to the state record. Nil if that record is missing or cannot be decrypted.
    public var expectedRows: Int?
    /// Whether the rows are exactly those that the library last wrote. False if another program added, changed, removed or rolled back a
    /// row. Also false if ``commits`` is nil.
    public var areRowsWhole: Bool
    /// The number of damaged rows: they cannot be decrypted, or a read with their name does not find them.
    /// ``SalvageableBackend/listing(in:)`` returns a handle for each of them.
    public var damagedRows: Int
    /// The number of rows whose encryption key was destroyed. They cannot be decrypted, so they cannot be checked.
    public var rowsOfDestroyedKeys: Int
    /// The number of errors in the index of labels. A label is a keyed hash of an attribute. It counts as an error if
    /// its entries in the index are wrong, missing or surplus.
    public var damagedLabels: Int

    /// Whether the check found no damage.
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

/// The progress of an integrity check, in rows.
///
/// ```swift
/// print("\(progress.checked) of \(progress.total) rows")
/// ```
public struct IntegrityProgress: Hashable, Sendable {
    /// The number of rows checked so far.
    public var checked: Int
    /// The total number of rows.
    public var total: Int

    /// Creates a progress value.
    public init(checked: Int, total: Int) { (self.checked, self.total) = (checked, total) }
}

/// A store that can verify that its content is exactly the content that the library wrote.
package protocol VerifiableStore: Sendable {
    /// Checks the whole store in one consistent snapshot.
    /// - Parameter progress: Called at intervals, on a thread of the store.
    /// - Returns: Nil if the store does not exist yet.
    /// - Throws: ``BackendError`` when the store cannot be checked.
    func verifyIntegrity(progress: @escaping @Sendable (IntegrityProgress) -> Void) async throws(BackendError) -> IntegrityReport?

    /// Accepts the current content as correct, although the check found differences. The acceptance is durable when the call returns.
    /// - Throws: ``BackendError``; in that case nothing was changed.
    func acceptContents() async throws(BackendError)
}

/// A store with a freshness anchor: a record of the store's latest state in another location, by which an older file is detected.
package protocol AnchoredStore: Sendable {
    /// Accepts the current file, which is older than the anchor's record, as the latest state. The acceptance is durable when the call
    /// returns.
    /// - Throws: ``BackendError``; in that case nothing was changed.
    func acceptOlderFile() async throws(BackendError)
}
