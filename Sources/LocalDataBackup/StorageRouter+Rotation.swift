import BackendContract
public import LocalData
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
        try await Self.cancellable("\(domain)", isStepwise: true) {
            let store: any RotatingStore = try store(of: domain, otherwise: "Only an encrypted database has a data key of its own.")
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await store.rotateDataKey(batch: 256) { progress(KeyRotationProgress(done: $0, total: $1)) }
            }
        }
    }
}

/// Rotation of a source's key.
extension StorageRouter {
    /// Makes a new key in a source, and seals with it what older keys of the source have sealed: databases are given to it, values of the registered catalogs and the quarantine
    /// are sealed again where they stand, while this and other programs use them. What it reports as done is durable when it returns.
    ///
    /// Older keys stay in the source and open what is left, until ``deleteOlderKeys(of:waitingAtMost:)``. As long as there are any, a call makes no further key but goes on
    /// with what remains: after a kill, after a store was locked, or after a program that was started before has sealed something more. A source that a program cannot change
    /// (a credential) is given the new key as its first line by whoever makes it; the call does the rest.
    ///
    /// The data keys of databases stay the same. If the source's key became known, rotate them afterwards: ``rotateDataKey(of:progress:)``.
    /// - Parameters:
    ///   - source: The source; the configuration's by default.
    ///   - progress: Told how many databases and values were brought to the new key, now and then, from the call's own task.
    /// - Throws: ``StorageError``: `encryptionKeyMissing` where the source has no key, `unsupported` where a program cannot change the source, `conflict` when another process
    ///   rotates it at the same time, what fetching the key throws. What a single store or value refuses is in the report.
    @concurrent
    @discardableResult
    public nonisolated func rotateKey(
        of source: KeySourceReference = .configured, progress: @Sendable (Int) -> Void = { _ in }
    ) async throws -> KeyRotationReport {
        try await Self.cancellable("storage", isStepwise: true) {
            try await KeyRotation(router: self, access: rotationAccess(of: source)).rotate(progress)
        }
    }

    /// Deletes the keys of a source that a rotation has replaced; durable when it returns. A source without any stays as it is.
    ///
    /// It refuses as long as something needs them: a database, a value of the registered catalogs, the quarantine, or a running program that has sealed with one of them since
    /// it was started. *Values that no registered catalog leads to are not seen*: whatever of them an older key has sealed is lost with it. Backups have keys of their own.
    /// - Parameters:
    ///   - source: The source; the configuration's by default.
    ///   - limit: How long changes of this program that are under way are waited for.
    /// - Throws: ``StorageError``: `conflict`, which says what needs them; `unsupported` without a catalog, and where a program cannot change the source; `timedOut`. No key
    ///   was destroyed then, unless the outcome says otherwise.
    @concurrent
    public nonisolated func deleteOlderKeys(
        of source: KeySourceReference = .configured, waitingAtMost limit: Duration = .seconds(10)
    ) async throws {
        try await Self.cancellable("storage", isStepwise: true) {
            try await KeyRotation(router: self, access: rotationAccess(of: source)).deleteOlderKeys(limit)
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
