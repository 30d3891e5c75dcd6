public import LocalData
import Sealing

extension StorageRouter {
    /// Changes the passphrase of a passphrase source, which stores an encryption key in a file that the passphrase
    /// protects. The change is durable when this returns.
    ///
    /// ```swift
    /// do { try await storage.changePassphrase(of: .passphrase(), from: old, to: new) } catch StorageError.encryptionKeyMismatch {
    ///     print("This is not the present passphrase. It was not changed.")
    /// }
    /// ```
    ///
    /// The key stays the same: sealed data does not change, and programs that have the key in memory continue. After a crash at any
    /// point, the file opens with the old passphrase or with the new one.
    ///
    /// Earlier copies of the file still open with the old passphrase. If the old passphrase was disclosed, move the databases to another
    /// source (``changeKeySource(of:from:)``), and then rotate their data keys (``rotateDataKey(of:progress:)``).
    /// - Parameters:
    ///   - source: A passphrase source; the configuration's by default.
    ///   - old: The present passphrase; nil asks `StorageConfiguration.passphrase` for it.
    ///   - new: The new passphrase. It is normalized to Unicode form C; blanks count.
    ///   - cost: The new cost of deriving a key from the passphrase; nil for `StorageConfiguration.scryptCost`.
    /// - Throws: `StorageError`: `encryptionKeyMismatch` if `old` is not the passphrase, `encryptionKeyMissing` if there is no file
    ///   yet, `weakerProtection` for an empty passphrase, `unsupported` for another kind of source or a cost outside the limits,
    ///   `conflict` if another process replaced the file. Nothing was changed, unless the outcome says otherwise.
    @concurrent
    public nonisolated func changePassphrase(
        of source: KeySourceReference = .configured, from old: String? = nil, to new: String, cost: ScryptCost? = nil
    ) async throws {
        try await call("changePassphrase") {
            let name = "\(source)"
            let key = try keySource(source)
            // A configuration in memory keeps the source's key without a passphrase, so the call has nothing to change.
            let named = source == .configured ? configuration.keySource : source
            if configuration.isInMemory, case .passphrase = named.form { return }
            guard let passphrase = key as? PassphraseSource else {
                throw StorageError(.unsupported, key: name, "Only a key under a passphrase has one to change. Nothing was changed.")
            }
            try await translating(name, await passphrase.changePassphrase(from: old, to: new, cost: cost?.cost))
        }
    }
}
