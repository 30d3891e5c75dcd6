import BackendContract
public import LocalData
import Sealing

extension StorageRouter {
    /// Seals every row of an encrypted database with a new data key, and destroys the old data key. This and other programs can use the
    /// database during the rotation.
    ///
    /// ```swift
    /// do {
    ///     try await storage.rotateDataKey(of: .encryptedSQLite(database: "main")) { print("\($0.done) of \($0.total)") }
    /// } catch let error as StorageError where error.outcome == .applied {
    ///     print(error.message)  // the new key is in use; damaged rows still need the old key
    /// }
    /// ```
    ///
    /// The new key is durable when this returns. From then on, neither the file nor its log contains a key that opens
    /// older copies of the file.
    ///
    /// On a server, the data keys of the internal stores of the application, such as the ledger, are rotated afterwards.
    ///
    /// A crash loses nothing: the database still opens with all of its values, and the next call continues the
    /// rotation. Recovery keys remain valid. The values do not count as changed, so concurrent changes and migrations
    /// continue. An enumeration of records that began before the end of the rotation can fail with `unsupported`. In
    /// that case, start the enumeration again.
    /// - Parameters:
    ///   - domain: An encrypted database, or a keychain that is stored in a vault, an encrypted database.
    ///   - progress: Called after each batch, on the task of this call.
    /// - Returns: The number of values and tombstones (records of removals) that were resealed.
    /// - Throws: `StorageError`: `unsupported` for a domain without a data key, `unavailable` if there is no
    ///   database, the errors of fetching the source's key. With the outcome `applied`, every readable row is sealed
    ///   with the new key. In that case, `corrupted` means that damaged rows need the old key, which is kept for them.
    ///   `residueRemains` means that another program still reads an older state of the database. Bytes of the old key
    ///   then stay in the log until the next change overwrites them. You can safely repeat the call.
    @concurrent
    @discardableResult
    public nonisolated func rotateDataKey(
        of domain: StorageDomain, progress: @Sendable (KeyRotationProgress) -> Void = { _ in }
    ) async throws -> Int {
        try await call("rotateDataKey", domain, isStepwise: true) {
            let store: any RotatingStore = try store(of: domain, otherwise: "Only an encrypted database has a data key.")
            return try await translatingErrors(key: "\(domain)") { () throws(BackendError) in
                try await store.rotateDataKey(batch: 256) { progress(KeyRotationProgress(done: $0, total: $1)) }
            }
        }
    }
}

/// Rotation of the key in a key source. A key source is the location of encryption keys, such as a keyring item or a
/// key file.
extension StorageRouter {
    /// Makes a new key in a key source, and seals (encrypts) the data of its older keys again with the new key.
    ///
    /// ```swift
    /// try await storage.registerCatalog(AppKeys())
    /// let report = try await storage.rotateKey()
    /// for place in report.remaining { print("not resealed yet: \(place)") }  // repeat the call
    /// ```
    ///
    /// The data keys of databases are encrypted with the new key. Values of the registered catalogs and quarantined
    /// values are sealed again in their slots. This and other programs can use them during the rotation. All reported
    /// work is durable when this returns.
    ///
    /// Older keys stay in the source until ``deleteOlderKeys(of:waitingAtMost:)``. While the source has older keys, a
    /// call makes no further key but continues the rotation. Repeat the call after a crash, after a store was locked,
    /// or after a program with the older key has sealed more values. A program cannot change some sources, such as a
    /// credential of systemd. An administrator adds the new key as the first line of such a source. A call of this
    /// function then does the rest.
    ///
    /// The data keys of databases stay the same. If the source's key was disclosed, rotate them afterwards:
    /// ``rotateDataKey(of:progress:)``.
    /// - Parameters:
    ///   - source: The source; the configuration's by default.
    ///   - progress: Receives the number of databases and values that use the new key so far. Called repeatedly on the task of this call.
    /// - Returns: The completed work, and the stores and values that failed.
    /// - Throws: `StorageError`: `encryptionKeyMissing` if the source has no key, `unsupported` if a program cannot change the source,
    ///   `conflict` if another process rotates it at the same time, the errors of fetching the key.
    @concurrent
    @discardableResult
    public nonisolated func rotateKey(
        of source: KeySourceReference = .configured, progress: @Sendable (Int) -> Void = { _ in }
    ) async throws -> KeyRotationReport {
        try await call("rotateKey", isStepwise: true) {
            try await KeyRotation(router: self, access: rotationAccess(of: source)).rotate(progress)
        }
    }

    /// Deletes the keys of a source that a rotation has replaced; durable when this returns. It does nothing if the source has no older
    /// key.
    ///
    /// ```swift
    /// do { try await storage.deleteOlderKeys() } catch let error as StorageError where error.code == .conflict {
    ///     print(error.message)  // the data or the program that still needs an older key
    /// }
    /// ```
    ///
    /// It fails while a database, a value of the registered catalogs or the quarantine needs an older key. It also
    /// fails while a running program may still seal data with an older key. Such a program has not read the new key.
    /// *Values outside the registered catalogs are not checked*: such a value is lost if an older key has sealed it.
    /// Backups have separate keys.
    /// - Parameters:
    ///   - source: The source; the configuration's by default.
    ///   - limit: How long to wait for unfinished changes of this program.
    /// - Throws: `StorageError`: `conflict`, with the data or program that needs an older key; `unsupported` without a catalog, or if a
    ///   program cannot change the source; `timedOut`. No key was destroyed, unless the outcome says otherwise.
    @concurrent
    public nonisolated func deleteOlderKeys(
        of source: KeySourceReference = .configured, waitingAtMost limit: Duration = .seconds(10)
    ) async throws {
        try await call("deleteOlderKeys", isStepwise: true) {
            try await KeyRotation(router: self, access: rotationAccess(of: source)).deleteOlderKeys(limit)
        }
    }
}

/// The progress of a data key rotation.
///
/// ```swift
/// do {
///     try await storage.rotateDataKey(of: .encryptedSQLite(database: "main")) { print("\($0.done) of \($0.total)") }
/// } catch let error as StorageError where error.outcome == .applied {
///     print(error.message)  // the new key is in use; damaged rows still need the old key
/// }
/// ```
public struct KeyRotationProgress: Hashable, Sendable {
    /// The number of values and tombstones that this call has resealed.
    public let done: Int
    /// The number of values and tombstones when the call began.
    public let total: Int

    init(done: Int, total: Int) { (self.done, self.total) = (done, total) }
}
