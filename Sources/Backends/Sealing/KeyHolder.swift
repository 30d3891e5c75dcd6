package import BackendContract
internal import BackendRuntime
package import Crypto

/// Somebody who can unwrap the data keys of a database.
package enum KeyHolder: Sendable {
    /// The key of a source.
    case key(SealingKey)
    /// A recovery key.
    case recovery(RecoveryKeyPair)

    /// Unwraps every data key that has not been destroyed.
    /// - Returns: The data keys by their ids.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` when this is none of the recipients; `corrupted` when something was changed.
    package func open(_ tables: KeyTables, database: [UInt8]) throws(BackendError) -> [[UInt8]: SymmetricKey] {
        var keys: [[UInt8]: SymmetricKey] = [:]
        switch self {
        case .key(let key):
            let kek = try KeyEncryptionKey(key, database: database)
            let wraps = tables.wraps.filter { $0.recipient == kek.id }
            guard !wraps.isEmpty else { throw kek.mismatch(tables.wraps) }
            for wrap in wraps { keys[wrap.key] = try kek.unwrap(wrap) }
        case .recovery(let key):
            let recipient = try RecoveryRecipient(publicKey: key.publicKey)
            let wraps = tables.wraps.filter { $0.recipient == recipient.id && $0.source == RecoveryRecipient.source }
            guard !wraps.isEmpty else {
                throw BackendError(
                    .encryptionKeyMismatch,
                    "The database was not sealed for this recovery key. Use the one that was made for it; nothing was changed.")
            }
            for wrap in wraps { keys[wrap.key] = try key.unwrap(wrap, database: database) }
        }
        return keys
    }
}

// MARK: Recovery keys as recipients

extension RecoveryRecipient {
    /// What stands in a row of the table `wraps` in place of a source's short name.
    package static let source = "recovery key"

    /// What the recipient is called in a database: the first 8 bytes of SHA-256 of `LocalData recovery recipient 1` and the public half.
    package var id: [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("LocalData recovery recipient 1".utf8))
        hash.update(data: publicKey)
        return Array(hash.finalize().prefix(KeyIdentity.idLength))
    }

    /// Wraps a data key. The public half stands in place of a verifier.
    package func wrap(_ key: SymmetricKey, database: [UInt8]) throws(BackendError) -> KeyTables.Wrap {
        let keyID = KeyIdentity.id(of: key)
        var plain = key.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        let sealed = try seal(plain, for: Self.purpose, authenticating: context(keyID, database))
        return KeyTables.Wrap(key: keyID, recipient: id, source: Self.source, verifier: publicKey, wrapped: sealed)
    }

    fileprivate static let purpose = "LocalData SQLite 1 recovery wrap"

    fileprivate func context(_ key: [UInt8], _ database: [UInt8]) -> [UInt8] {
        var fields = Fields(Self.purpose)
        fields.add(database)
        fields.add(key)
        fields.add(publicKey)
        return fields.bytes
    }
}

extension RecoveryKeyPair {
    /// Unwraps a data key.
    fileprivate func unwrap(_ wrap: KeyTables.Wrap, database: [UInt8]) throws(BackendError) -> SymmetricKey {
        let recipient = try RecoveryRecipient(publicKey: publicKey)
        var plain: [UInt8]
        do throws(BackendError) {
            guard wrap.verifier == recipient.publicKey else { throw Keyset.damage }
            plain = try open(wrap.wrapped, for: RecoveryRecipient.purpose, authenticating: recipient.context(wrap.key, database))
        } catch { throw Keyset.damage }
        defer { wipe(&plain) }
        let key = SymmetricKey(data: plain)
        guard plain.count == SealingKey.keyLength, KeyIdentity.id(of: key) == wrap.key else { throw Keyset.damage }
        return key
    }
}
