package import BackendContract
import BackendRuntime

/// Another passphrase, or another cost, for the same key.
extension PassphraseSource {
    /// Puts the key under another passphrase, durably; the key stays the same, so nothing that it sealed changes. The file is replaced in one step: killed at any point, it
    /// opens with the old passphrase or with the new one.
    /// - Parameters:
    ///   - old: The passphrase now; nil asks for it as ``load()`` does.
    ///   - new: The passphrase from now on.
    ///   - cost: The cost from now on; nil for that of new files.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` when there is no file; `encryptionKeyMismatch` when `old` is not its passphrase; `weakerProtection` for an empty `new`;
    ///   `unsupported` for a cost outside of the limits. Nothing was changed then. `conflict` when another process has replaced the file meanwhile. With the outcome
    ///   `unknown`, the file has one of the two passphrases.
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
    /// Something would be protected less than before.
    package static let weakerProtection = BackendError.Code("weakerProtection")
    /// Something else was changed at the same time.
    package static let conflict = BackendError.Code("conflict")
}
