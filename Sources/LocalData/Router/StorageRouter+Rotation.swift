import BackendContract
import Sealing

extension StorageRouter {
    /// Seals every row of an encrypted database with a new data key, and destroys the old one, while the database is in use by this and other programs. Durable when it returns: neither
    /// the file nor its log holds anything then that opens what older copies of the file hold.
    ///
    /// It is killed at any point without loss: the database opens with all of its values, and the next call goes on where this one was. Recovery keys open the database as
    /// before. Values keep their revisions, so changes and migrations that are under way go on. An enumeration of records that began before the end of the rotation can
    /// fail with `unsupported`, and is begun again.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is kept in a sealed vault.
    ///   - progress: Called after each part, from the call's own task.
    /// - Returns: How many values and removals were sealed again.
    /// - Throws: ``StorageError``: `unsupported` for a domain without data keys of its own, `unavailable` when there is no database, what fetching the key throws.
    ///   With the outcome `applied`, everything that opens is sealed with the new key: `corrupted` when damaged rows need the old key, which is kept for them;
    ///   `residueRemains` when another program reads an older state, so that the log is overwritten with the next change. Calling it again is harmless.
    @concurrent
    @discardableResult
    public nonisolated func rotateDataKey(
        of domain: StorageDomain, progress: @Sendable (KeyRotationProgress) -> Void = { _ in }
    ) async throws -> Int {
        let (_, backend) = try env.routes.backend(for: domain, key: "\(domain)")
        guard let store = backend as? any RotatingStore else {
            throw StorageError(
                StorageError.unsupported, key: "\(domain)", "Only an encrypted database has a data key of its own. Nothing was changed.")
        }
        return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
            try await store.rotateDataKey(batch: 256) { progress(KeyRotationProgress(done: $0, total: $1)) }
        }
    }
}

/// How far the rotation of a data key has come.
public struct KeyRotationProgress: Hashable, Sendable {
    /// How many values and removals were sealed again by this call.
    public let done: Int
    /// How many there were when it began.
    public let total: Int

    init(done: Int, total: Int) { (self.done, self.total) = (done, total) }
}
