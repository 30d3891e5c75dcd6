/// A store that counts the values of each indexed property, so that a count takes the same time for any number of
/// values.
package protocol CountedBackend: StorageBackend {
    /// Returns the number of values for each query, all at the same moment.
    /// - Parameter queries: Queries with at most one condition each.
    /// - Returns: The numbers, in the order of the queries; nil for a query that no count answers.
    func storedCounts(of queries: [StorageQuery]) async throws(BackendError) -> [Int?]
}
