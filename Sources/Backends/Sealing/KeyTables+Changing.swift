package import BackendContract
package import Crypto

extension KeyTables.Wrap {
    /// How many bytes a wrapped data key has for a recipient.
    static func length(for source: String) -> Int {
        SealingKey.keyLength + (source == RecoveryRecipient.source ? RecoveryKeyPair.overhead : KeyEncryptionKey.overhead)
    }
}

extension KeyTables {
    /// A change of who can unwrap the data keys.
    package enum Change: Sendable {
        /// A recovery key more.
        case addingRecovery(RecoveryRecipient)
        /// A recovery key less.
        case removingRecovery([UInt8])
        /// The key of a source in place of the keys of other sources; recovery keys stay.
        case replacingSources(with: SealingKey, source: String)
        /// The key of a source in place of those that it had before; other sources stay.
        case rotating(to: SealingKey, from: [[UInt8]], source: String)
    }

    /// The same keys for other recipients.
    /// - Parameters:
    ///   - keys: The data keys, unwrapped.
    ///   - database: The database's id.
    /// - Throws: ``BackendError``.
    package func changed(
        _ change: Change, _ keys: [[UInt8]: SymmetricKey], database: [UInt8], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> KeyTables {
        var wraps = wraps
        switch change {
        case .addingRecovery(let recipient):
            if wraps.contains(where: { $0.recipient == recipient.id }) { return self }
            for (_, key) in keys { wraps.append(try recipient.wrap(key, database: database)) }
        case .removingRecovery(let id):
            wraps.removeAll { $0.recipient == id && $0.source == RecoveryRecipient.source }
        case .replacingSources(let key, let source):
            wraps.removeAll { $0.source != RecoveryRecipient.source }
            let kek = try KeyEncryptionKey(key, database: database)
            for (_, key) in keys { wraps.append(try kek.wrap(key, source: source, randomBytes)) }
        case .rotating(let key, let older, let source):
            let isRecipient = wraps.contains { $0.recipient == key.id && $0.source == source }
            wraps.removeAll { older.contains($0.recipient) && $0.source == source }
            guard wraps.count < self.wraps.count, !isRecipient else { break }
            let kek = try KeyEncryptionKey(key, database: database)
            for (_, key) in keys { wraps.append(try kek.wrap(key, source: source, randomBytes)) }
        }
        return try KeyTables(keys: self.keys, wraps: wraps)
    }

    /// A new active key, wrapped for every recipient; the one that was active only opens from now on.
    /// - Parameters:
    ///   - sources: The key-encryption keys of all recipients but recovery keys, whose public halves are in the tables.
    ///   - database: The database's id.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` when the key of a recipient is not among them.
    package func activatingNewKey(
        for sources: [SealingKey], database: [UInt8], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> KeyTables {
        let key = SymmetricKey.random(randomBytes)
        var wraps = wraps
        for wrap in wraps where wrap.key == wraps.first?.key {
            if wrap.source == RecoveryRecipient.source {
                wraps.append(try RecoveryRecipient(publicKey: wrap.verifier).wrap(key, database: database))
            } else {
                guard let source = sources.first(where: { $0.id == wrap.recipient }) else { throw Keyset.damage }
                let kek = try KeyEncryptionKey(source, database: database)
                guard kek.verifier == wrap.verifier else { throw kek.mismatch([wrap]) }
                wraps.append(try kek.wrap(key, source: wrap.source, randomBytes))
            }
        }
        let older = keys.map { $0.state == .active ? Key(id: $0.id, state: .decryptOnly) : $0 }
        return try KeyTables(keys: older + [Key(id: KeyIdentity.id(of: key), state: .active)], wraps: wraps)
    }

    /// The same keys without those that only open: they are destroyed, and wrapped for nobody.
    package func destroyingOlderKeys() throws(BackendError) -> KeyTables {
        let older = Set(keys.filter { $0.state == .decryptOnly }.map(\.id))
        return try KeyTables(
            keys: keys.map { older.contains($0.id) ? Key(id: $0.id, state: .destroyed) : $0 },
            wraps: wraps.filter { !older.contains($0.key) })
    }
}
