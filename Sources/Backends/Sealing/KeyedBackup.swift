package import BackendContract
package import BackendRuntime

/// A copy of a keyed store. A keyed store is one that only a key opens.
package protocol KeyedBackupCopy: BackupCopy {
    /// The recipients: the keys that can unwrap the store's data keys.
    var recipients: [KeyTables.Recipient] { get }

    /// Checks that a key opens the store.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` if the key does not open it; `corrupted`.
    func requireOpens(with key: SealingKey) throws(BackendError)
}

/// A keyed store that backups copy and restore. Only a key opens such a store.
package protocol KeyedBackupStore: BackupStore {
    /// Begins to restore a store.
    /// - Parameters:
    ///   - path: The path of the restored store.
    ///   - keys: The keys in the backup.
    ///   - own: The key that opens the restored store.
    func draft(at path: String, keys: [SealingKey], own: RestoredKey) async throws(BackendError) -> any RestoreDraft

    /// Returns the owner that the store names, without a key. Nil if there is no store.
    /// - Throws: ``BackendError``: `untrusted` if another user owns the store or can change it, `timedOut`, `accessDenied` and others. Damage
    ///   is no error.
    func owner(deadline: MonotonicInstant) async throws(BackendError) -> StoreOwner?
}

/// The findings of a check of a keyed store's content.
package struct KeyedBackupContent: Sendable {
    /// The number of rows that do not open. They were already damaged when the backup was made.
    package var damaged = 0
    /// Whether the store's sealed state, which has the number of rows and a keyed sum over them, proves that the rows
    /// are complete and unchanged.
    package var isProven = false
    /// Whether the store was damaged, so that the backup contains its file unchanged. Then no row was opened.
    package var isFile = false
    /// The values of the metadata field `sealing` in the rows. They name the keys that sealed single values.
    package var sealings: Set<String> = []

    /// Creates the findings of a check that has not begun.
    package init() {}
}

/// Checks the content of a keyed store in memory, without a disk. The content arrives in parts.
package protocol KeyedBackupCheck: AnyObject {
    /// Takes the next part.
    func take(_ part: [UInt8]) throws(BackendError)

    /// Ends the content and returns the findings.
    func finish() throws(BackendError) -> KeyedBackupContent
}

/// The key that opens a restored store.
package struct RestoredKey: Sendable {
    /// The key of the store's source on this machine.
    package var key: SealingKey
    /// The short name of that source.
    package var source: String

    /// Creates the key with the name of its source.
    package init(key: SealingKey, source: String) { (self.key, self.source) = (key, source) }
}
