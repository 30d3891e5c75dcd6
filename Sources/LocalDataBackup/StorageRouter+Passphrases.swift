import BackendContract
public import LocalData
import Sealing

extension StorageRouter {
    /// Puts the key of a passphrase source under another passphrase; durable when it returns. The key stays the same: nothing that it sealed changes, and programs that have it
    /// in memory go on. Killed at any point, the file opens with the old passphrase or with the new one.
    ///
    /// Copies of the file that were made before still open with the old passphrase. If it became known, give the databases to another source (``changeKeySource(of:from:)``), and
    /// then another data key (``rotateDataKey(of:progress:)``).
    /// - Parameters:
    ///   - source: A passphrase source; the configuration's by default.
    ///   - old: The passphrase now; nil asks ``StorageConfiguration/passphrase`` for it.
    ///   - new: The passphrase from now on. It is brought into Unicode's form C; blanks count.
    ///   - cost: The cost of trying passphrases from now on; nil for ``StorageConfiguration/scryptCost``.
    /// - Throws: ``StorageError``: `encryptionKeyMismatch` when `old` is not the passphrase, `encryptionKeyMissing` when there is no file yet, `weakerProtection` for an empty
    ///   passphrase, `unsupported` for another kind of source or a cost outside of the limits, `conflict` when another process replaced the file. Nothing was changed then,
    ///   unless the outcome says otherwise.
    @concurrent
    public nonisolated func changePassphrase(
        of source: KeySourceReference = .configured, from old: String? = nil, to new: String, cost: ScryptCost? = nil
    ) async throws {
        try await Self.cancellable("storage") {
            let name = "\(source)"
            let key = try keySource(source)
            // In memory, a key is under no passphrase.
            let named = source == .configured ? configuration.keySource : source
            if configuration.isInMemory, case .passphrase = named.form { return }
            guard let passphrase = key as? PassphraseSource else {
                throw StorageError(
                    StorageError.unsupported, key: name, "Only a key under a passphrase has one to change. Nothing was changed.")
            }
            try await translatingErrors(key: name) { () throws(BackendError) in
                try await passphrase.changePassphrase(from: old, to: new, cost: cost?.cost)
            }
        }
    }
}
