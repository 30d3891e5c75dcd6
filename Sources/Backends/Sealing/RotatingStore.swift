package import BackendContract

/// A store whose data key can be replaced while it is in use.
package protocol RotatingStore: Sendable {
    /// Seals all rows with a new data key and destroys the old key, or finishes an interrupted rotation.
    ///
    /// When the call returns, the change is durable, and the old key has already been overwritten in the file and in
    /// its write-ahead log. If another process finishes the rotation first, that process overwrites the key.
    /// - Parameters:
    ///   - batch: The maximum number of rows that one transaction seals.
    ///   - progress: Called after each transaction that sealed rows, with the number of rows sealed so far and the
    ///     number of all rows.
    /// - Returns: The number of rows that were sealed again.
    /// - Throws: ``BackendError``: `unavailable` if there is no store; `corrupted` with the outcome `applied` if rows
    ///   are damaged and cannot be resealed, so that the old key is kept for them; `residueRemains` with the outcome
    ///   `applied` if the log could not be overwritten yet. After any error, the store can still be opened, and the
    ///   next call continues an unfinished rotation.
    func rotateDataKey(batch: Int, progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws(BackendError) -> Int
}
