/// A store that can change many values faster than one by one.
package protocol BulkBackend: StorageBackend {
    /// Returns the positions of values on the disk, whether they exist or not. The order does not follow from the names. A change of values
    /// that are neighbours on the disk touches fewer pages than a change of as many other values.
    /// - Returns: Numbers in the order of the addresses; nil if the positions are not known, for example before the store exists.
    func positions(of addresses: [StorageAddress]) -> [Int64]?

    /// Changes slots, as `apply(_:)` does. Then reads the stored bytes as a new process would, and compares them with what was written,
    /// without opening them.
    /// - Returns: The results, and whether every slot has exactly the bytes that were written. If not, another caller may have changed a
    ///   slot since, or the store cannot compare these mutations.
    func applyComparing(_ mutations: [StorageMutation]) async throws(BackendError) -> (results: [MutationResult], isStored: Bool)
}
