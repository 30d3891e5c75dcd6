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
        }
        return try KeyTables(keys: self.keys, wraps: wraps)
    }
}
