package import BackendContract
internal import BackendRuntime
package import Crypto

/// A key that can unwrap the data keys of a database.
package enum KeyHolder: Sendable {
    /// The key of a source, such as a key file or an item in the keyring.
    case key(SealingKey)
    /// A recovery key: a key pair whose private half is stored outside the machine.
    case recovery(RecoveryKeyPair)

    /// Unwraps every data key that is not destroyed.
    /// - Returns: The data keys by their ids.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` if no data key is wrapped for this key; `corrupted` if the
    ///   tables were changed.
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
            guard let first = wraps.first else {
                throw BackendError(
                    .encryptionKeyMismatch,
                    "The database was not sealed for this recovery key. Use the one that was made for it; nothing was changed.")
            }
            let voucher = try RecoveryVoucher(first.wrapped)
            guard voucher.isMade(by: key) else { throw RecoveryVoucher.foreign }
            for wrap in wraps {
                guard try RecoveryVoucher(wrap.wrapped) == voucher else { throw RecoveryVoucher.foreign }
                keys[wrap.key] = try key.unwrap(wrap, from: voucher.sender, database: database)
            }
        }
        return keys
    }
}

extension RecoveryVoucher {
    /// The error for a database that wraps data keys for a recovery key without a valid
    /// ``RecoveryVoucher``, which is the recovery key's confirmation that it was added to this database.
    static var foreign: BackendError {
        BackendError(
            .corrupted,
            "The database lists this recovery key without the key's confirmation. It is damaged, or another database replaced it. Restore the file from a backup; nothing was changed."
        )
    }
}

// MARK: Recovery keys as recipients

extension RecoveryRecipient {
    /// The text in the column `source` of the table `wraps` for a recovery key. For every other key, this column
    /// contains the short name of the key's source.
    package static let source = "recovery key"

    /// The id of the recovery key as a recipient of data keys: the first 8 bytes of SHA-256 of
    /// `LocalData recovery recipient 1` and the public half.
    package var id: [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("LocalData recovery recipient 1".utf8))
        hash.update(data: publicKey)
        return Array(hash.finalize().prefix(KeyIdentity.idLength))
    }

    /// Wraps a data key for the recovery key. In the resulting row of the table `wraps`, the column `verifier` contains
    /// the public half of the recovery key.
    /// - Parameters:
    ///   - key: The data key.
    ///   - sender: The key pair with which the database authenticates the data keys that it wraps for recovery keys.
    ///   - voucher: The recovery key's confirmation of this sender.
    ///   - database: The id of the database.
    func wrap(
        _ key: SymmetricKey, from sender: RecoverySender, _ voucher: RecoveryVoucher, database: [UInt8]
    ) throws(BackendError) -> KeyTables.Wrap {
        let keyID = KeyIdentity.id(of: key)
        var plain = key.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        let sealed = try seal(plain, for: Self.purpose, from: sender, authenticating: context(keyID, database))
        return KeyTables.Wrap(key: keyID, recipient: id, source: Self.source, verifier: publicKey, wrapped: voucher.bytes + sealed)
    }

    fileprivate static let purpose = "LocalData SQLite 1 recovery wrap"

    fileprivate func context(_ key: [UInt8], _ database: [UInt8]) -> [UInt8] {
        Fields(Self.purpose, database, key, publicKey).bytes
    }
}

extension RecoveryKeyPair {
    /// Unwraps a data key that a sender has wrapped.
    fileprivate func unwrap(_ wrap: KeyTables.Wrap, from sender: [UInt8], database: [UInt8]) throws(BackendError) -> SymmetricKey {
        let recipient = try RecoveryRecipient(publicKey: publicKey)
        var plain: [UInt8]
        do throws(BackendError) {
            guard wrap.verifier == recipient.publicKey else { throw Keyset.damage }
            plain = try open(
                Array(wrap.wrapped.dropFirst(RecoveryVoucher.length)), for: RecoveryRecipient.purpose, from: sender,
                authenticating: recipient.context(wrap.key, database))
        } catch { throw RecoveryVoucher.foreign }
        defer { wipe(&plain) }
        let key = SymmetricKey(data: plain)
        guard plain.count == SealingKey.keyLength, KeyIdentity.id(of: key) == wrap.key else { throw Keyset.damage }
        return key
    }
}
