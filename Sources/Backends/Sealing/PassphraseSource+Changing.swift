package import BackendContract
import BackendRuntime

/// Changing the passphrase or the cost of a file. The keys in it stay the same.
extension PassphraseSource {
    /// Changes the passphrase durably. The keys stay the same, so the data that they sealed is not affected.
    ///
    /// The file is replaced atomically. If the process is killed, the file opens with the old passphrase or with the
    /// new one.
    /// - Parameters:
    ///   - old: The present passphrase; nil to ask for it, like ``load()``.
    ///   - new: The new passphrase.
    ///   - cost: The new cost; nil for the cost of new files.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` if there is no file; `encryptionKeyMismatch` if `old` is not
    ///   the passphrase; `weakerProtection` if `new` is empty; `unsupported` if the cost is outside of the limits;
    ///   `conflict` if another process has replaced the file since it was read. In these cases this call changed
    ///   nothing. After an error with the outcome `unknown`, the file opens with either the old or the new passphrase.
    package func changePassphrase(
        from old: String? = nil, to new: String, cost: PassphraseCost? = nil
    ) async throws(BackendError) {
        guard !new.isEmpty else {
            throw BackendError(.weakerProtection, "An empty passphrase protects nothing. Choose another one; nothing was changed.")
        }
        let cost = (cost ?? self.cost).allowed(by: self.cost)
        let newSecret = Self.secret(new)
        guard let found = try await files.onLane(isMutation: false, { () throws(BackendError) in try read() }) else {
            throw BackendError(.encryptionKeyMissing, "There is no passphrase file \(path), so there is no passphrase to change.")
        }
        let oldSecret: SecretBytes
        if let old { oldSecret = Self.secret(old) } else { oldSecret = try await ask() }
        try await files.deriving(isMutation: true) { () throws(BackendError) in
            let keys = try found.open(with: oldSecret, of: path)
            let bytes = try PassphraseFile.sealing(
                keys, with: newSecret, cost, salt: files.runtime.randomBytes(32),
                nonce: files.runtime.randomBytes(XAES256GCM.nonceLength))
            try files.replace(path, found.bytes, with: bytes)
        }
    }
}

extension BackendError.Code {
    /// The operation would weaken the protection.
    package static let weakerProtection = BackendError.Code("weakerProtection")
    /// Another process changed the data at the same time.
    package static let conflict = BackendError.Code("conflict")
}
