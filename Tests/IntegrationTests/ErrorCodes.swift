import LocalData

/// Returns the code of the ``StorageError`` that some work throws; nil if it throws none.
func code<R>(thrownBy body: () async throws -> R) async -> StorageError.Code? {
    do {
        _ = try await body()
        return nil
    } catch { return (error as? StorageError)?.code }
}
