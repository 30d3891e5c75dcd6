public import LocalData

extension StorageRouter {
    /// The ids of the catalogs that were registered with this router, sorted.
    public nonisolated var registeredCatalogs: [String] { catalogIDs }

    /// Returns the size of a domain's store on the disk: of its property list, or of its database with the log beside it.
    ///
    /// It contains removed values until their space is used again, and the metadata of all values. The size of single values is
    /// in `StorageAudit.Row.bytes`.
    /// - Parameter domain: The domain.
    /// - Returns: The size in bytes; 0 if the store was not created yet. Nil for a store without a file: memory, a keyring, a
    ///   server, or a custom backend.
    /// - Throws: `StorageError` when the file cannot be found or read.
    @concurrent
    public nonisolated func storedSize(of domain: StorageDomain) async throws -> Int? {
        try await sizeOfFiles(of: domain).map { Int($0) }
    }
}
