package import BackendContract
package import BackendRuntime

/// A copy of a store that only a key opens.
package protocol KeyedBackupCopy: BackupCopy {
    /// Everybody who can unwrap the store's data keys.
    var recipients: [KeyTables.Recipient] { get }

    /// Checks that a key opens the store.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch`, `corrupted`.
    func requireOpens(with key: SealingKey) throws(BackendError)
}

/// A store that only a key opens, as backups copy and restore it.
package protocol KeyedBackupStore: BackupStore {
    /// Begins a store that is restored.
    /// - Parameters:
    ///   - path: Where it is made.
    ///   - keys: Those of the backup.
    ///   - own: Who the restored store is given to.
    func draft(at path: String, keys: [SealingKey], own: RestoredKey) async throws(BackendError) -> any RestoreDraft
}

/// What was found in the content of a store that only a key opens.
package struct KeyedBackupContent: Sendable {
    /// How many rows do not open. They were damaged when the backup was made.
    package var damaged = 0
    /// Whether the rows are those that were written, all of them, by the store's sealed state.
    package var isProven = false
    /// Whether the store was damaged, and its file is there as it is: no row was opened.
    package var isFile = false
    /// What single values in it were sealed with: the metadata `sealing`.
    package var sealings: Set<String> = []

    /// Nothing was found yet.
    package init() {}
}

/// Checks the parts of a store that only a key opens, without a disk.
package protocol KeyedBackupCheck: AnyObject {
    /// Takes the next part.
    func take(_ part: [UInt8]) throws(BackendError)

    /// Ends the content.
    func finish() throws(BackendError) -> KeyedBackupContent
}

/// Who a restored store is given to.
package struct RestoredKey: Sendable {
    /// The key of the store's source here.
    package var key: SealingKey
    /// The short name of that source.
    package var source: String

    /// Names the key.
    package init(key: SealingKey, source: String) { (self.key, self.source) = (key, source) }
}
