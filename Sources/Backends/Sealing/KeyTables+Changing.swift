package import BackendContract
package import Crypto

extension KeyTables.Wrap {
    /// Returns the number of bytes of a data key after it was wrapped for a recipient. The recipient is either a
    /// key-encryption key or a recovery key.
    /// - Parameter source: The short name of the source that holds the recipient's key.
    static func length(for source: String) -> Int {
        SealingKey.keyLength
            + (source == RecoveryRecipient.source ? RecoveryVoucher.length + RecoveryKeyPair.overhead : KeyEncryptionKey.overhead)
    }
}

extension KeyTables {
    /// A change of the recipients. A recipient is a key that can unwrap the data keys.
    package enum Change: Sendable {
        /// Adds a recovery key: a key pair whose private half is stored outside the machine.
        case addingRecovery(RecoveryKeyPair)
        /// Removes the recovery key with this id.
        case removingRecovery([UInt8])
        /// Replaces the keys of all key sources with one key. Recovery keys stay recipients.
        case replacingSources(with: SealingKey, source: String)
        /// Replaces the older keys of one key source with its new key. The keys of other sources stay recipients.
        case rotating(to: SealingKey, from: [[UInt8]], source: String)
    }

    /// Returns tables with the same data keys and other recipients.
    /// - Parameters:
    ///   - change: The change of the recipients.
    ///   - keys: The unwrapped data keys by id.
    ///   - database: The id of the database.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    /// - Throws: ``BackendError``.
    package func changed(
        _ change: Change, _ keys: [[UInt8]: SymmetricKey], database: [UInt8], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> KeyTables {
        var (wraps, sender) = (wraps, sender)
        switch change {
        case .addingRecovery(let pair):
            let recipient = try RecoveryRecipient(publicKey: pair.publicKey)
            if wraps.contains(where: { $0.recipient == recipient.id }) { return self }
            let own = try openedSender(keys, database: database) ?? RecoverySender(randomBytes)
            if sender == nil { sender = try own.sealed(with: try activeKey(of: keys), database: database, randomBytes) }
            let voucher = RecoveryVoucher(of: own.publicKey, origin: database, by: pair)
            for (_, key) in keys { wraps.append(try recipient.wrap(key, from: own, voucher, database: database)) }
        case .removingRecovery(let id):
            wraps.removeAll { $0.recipient == id && $0.source == RecoveryRecipient.source }
            // Remove the sender with the last recovery key. The sender is the key pair that authenticates the data keys
            // which are wrapped for recovery keys. A recovery key that is added later gets a new sender, which no
            // removed recovery key has confirmed.
            if !wraps.contains(where: { $0.source == RecoveryRecipient.source }) { sender = nil }
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
        return try KeyTables(keys: self.keys, wraps: wraps, sender: sender)
    }

    /// Returns tables with a new active key, wrapped for every recipient. The former active key becomes decrypt-only:
    /// it only opens data that it sealed earlier.
    /// - Parameters:
    ///   - sources: The key-encryption keys of all recipients except recovery keys. The tables contain the public
    ///     halves of the recovery keys.
    ///   - keys: The unwrapped data keys by id.
    ///   - database: The id of the database.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    /// - Throws: ``BackendError``: `corrupted` if the key of a recipient is not in `sources`; `encryptionKeyMismatch`
    ///   if a key in `sources` has the id of a recipient, but is another key.
    package func activatingNewKey(
        for sources: [SealingKey], _ keys: [[UInt8]: SymmetricKey], database: [UInt8], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> KeyTables {
        let new = try newKey(for: sources, keys, database: database, as: database, randomBytes)
        let older = self.keys.map { $0.state == .active ? Key(id: $0.id, state: .decryptOnly) : $0 }
        return try KeyTables(keys: older + [new.key], wraps: wraps + new.wraps, sender: new.sender)
    }

    /// Returns tables for a database that gets another id: a new active key, wrapped for every recipient. All older
    /// keys are marked as destroyed.
    /// - Parameters:
    ///   - sources: The key-encryption keys of all recipients except recovery keys. The tables contain the public
    ///     halves of the recovery keys.
    ///   - keys: The unwrapped data keys by id.
    ///   - database: The present id of the database.
    ///   - other: The new id of the database.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    /// - Throws: ``BackendError``: `corrupted` if the key of a recipient is not in `sources`; `encryptionKeyMismatch`
    ///   if a key in `sources` has the id of a recipient, but is another key.
    package func reidentified(
        for sources: [SealingKey], _ keys: [[UInt8]: SymmetricKey], database: [UInt8], as other: [UInt8],
        _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> KeyTables {
        let new = try newKey(for: sources, keys, database: database, as: other, randomBytes)
        let older = self.keys.map { Key(id: $0.id, state: .destroyed) }
        return try KeyTables(keys: older + [new.key], wraps: new.wraps, sender: new.sender)
    }

    private func newKey(
        for sources: [SealingKey], _ keys: [[UInt8]: SymmetricKey], database: [UInt8], as other: [UInt8],
        _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> (key: Key, wraps: [Wrap], sender: [UInt8]?) {
        let key = SymmetricKey.random(randomBytes)
        let sender = try openedSender(keys, database: database)
        var made: [Wrap] = []
        for wrap in wraps where wrap.key == wraps.first?.key {
            if wrap.source == RecoveryRecipient.source {
                let voucher = try RecoveryVoucher(wrap.wrapped)
                guard let sender, sender.publicKey == voucher.sender else { throw Keyset.damage }
                made.append(try RecoveryRecipient(publicKey: wrap.verifier).wrap(key, from: sender, voucher, database: other))
            } else {
                guard let source = sources.first(where: { $0.id == wrap.recipient }) else { throw Keyset.damage }
                let kek = try KeyEncryptionKey(source, database: database)
                guard kek.verifier == wrap.verifier else { throw kek.mismatch([wrap]) }
                made.append(try KeyEncryptionKey(source, database: other).wrap(key, source: wrap.source, randomBytes))
            }
        }
        return (
            Key(id: KeyIdentity.id(of: key), state: .active), made,
            try sender?.sealed(with: key, database: other, randomBytes)
        )
    }

    /// Opens the sender from its sealed private half in the tables. Returns nil if there is no recovery key.
    private func openedSender(_ keys: [[UInt8]: SymmetricKey], database: [UInt8]) throws(BackendError) -> RecoverySender? {
        guard let sender else { return nil }
        return try RecoverySender(opening: sender, with: activeKey(of: keys), database: database)
    }

    private func activeKey(of unwrapped: [[UInt8]: SymmetricKey]) throws(BackendError) -> SymmetricKey {
        guard let active = keys.first(where: { $0.state == .active }), let key = unwrapped[active.id] else { throw Keyset.damage }
        return key
    }

    /// Returns tables in which every decrypt-only key is marked as destroyed and is no longer wrapped for any
    /// recipient.
    package func destroyingOlderKeys() throws(BackendError) -> KeyTables {
        let older = Set(keys.filter { $0.state == .decryptOnly }.map(\.id))
        return try KeyTables(
            keys: keys.map { older.contains($0.id) ? Key(id: $0.id, state: .destroyed) : $0 },
            wraps: wraps.filter { !older.contains($0.key) }, sender: sender)
    }
}
