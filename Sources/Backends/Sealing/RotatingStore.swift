package import BackendContract

/// A store whose data key can be replaced while it is in use.
package protocol RotatingStore: Sendable {
    /// Seals everything with a new data key and destroys the old one, or finishes a rotation that was interrupted. Durable when it returns, with the old key overwritten in the
    /// file and in its log.
    /// - Parameters:
    ///   - batch: How many rows are sealed in one transaction, at most.
    ///   - progress: Called after each part, with the rows that were sealed again and all rows.
    /// - Returns: How many rows were sealed again.
    /// - Throws: ``BackendError``: `unavailable` where there is no store; `corrupted` with the outcome `applied` when damaged rows need the old key; `residueRemains` with
    ///   the outcome `applied` when the log could not be overwritten yet. After any error, the store opens, and the next call goes on.
    func rotateDataKey(batch: Int, progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws(BackendError) -> Int
}
