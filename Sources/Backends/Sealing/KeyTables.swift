package import BackendContract

/// The data keys of a database as it stores them: the list of the keys, and each key wrapped for each recipient. A
/// recipient is a key that can unwrap the data keys.
package struct KeyTables: Hashable, Sendable {
    /// The state of a data key.
    package enum State: UInt8, Sendable {
        /// The key seals. Exactly one key is active.
        case active = 1
        /// The key only opens data that it sealed earlier.
        case decryptOnly = 2
        /// The key is lost for good, and so is all data that it sealed. The key is not wrapped for any recipient.
        case destroyed = 3
    }

    /// A row of the table `keys`.
    package struct Key: Hashable, Sendable {
        package var id: [UInt8]
        package var state: State

        /// Creates a row.
        package init(id: [UInt8], state: State) { (self.id, self.state) = (id, state) }
    }

    /// A row of the table `wraps`: a data key that one recipient can unwrap.
    package struct Wrap: Hashable, Sendable {
        /// The id of the data key.
        package var key: [UInt8]
        /// The id of the recipient: of a key-encryption key, or of a recovery key.
        package var recipient: [UInt8]
        /// The short name of the source that holds the key-encryption key, or ``RecoveryRecipient/source`` for a
        /// recovery key.
        package var source: String
        package var verifier: [UInt8]
        package var wrapped: [UInt8]

        /// Creates a row.
        package init(key: [UInt8], recipient: [UInt8], source: String, verifier: [UInt8], wrapped: [UInt8]) {
            (self.key, self.recipient, self.source, self.verifier, self.wrapped) = (key, recipient, source, verifier, wrapped)
        }
    }

    /// The data keys, sorted by id.
    package let keys: [Key]
    /// The wrapped data keys, sorted by the id of the data key and then by the id of the recipient.
    package let wraps: [Wrap]
    /// The private half of the ``RecoverySender``, sealed with the active data key. It authenticates the data keys that
    /// are wrapped for recovery keys. Nil if there is no recovery key.
    package let sender: [UInt8]?

    /// Creates the tables from their rows and the sealed sender.
    /// - Throws: ``BackendError`` with `corrupted` if the rows contradict each other. Exactly one key must be active.
    ///   Each key that is not destroyed must be wrapped once for each recipient, and no other key may be wrapped. A
    ///   sender must exist if there is a recovery key, and only then.
    package init(keys: [Key], wraps: [Wrap], sender: [UInt8]? = nil) throws(BackendError) {
        let keys = keys.sorted { $0.id.lexicographicallyPrecedes($1.id) }
        let live = keys.filter { $0.state != .destroyed }
        let wraps = wraps.sorted { ($0.key + $0.recipient).lexicographicallyPrecedes($1.key + $1.recipient) }
        // One after another: the wraps of each live key, for the same recipients.
        let recipients = wraps.prefix { $0.key == wraps[0].key }
        guard keys.allSatisfy({ $0.id.count == KeyIdentity.idLength }), zip(keys, keys.dropFirst()).allSatisfy({ $0.id != $1.id }),
            zip(recipients, recipients.dropFirst()).allSatisfy({ $0.recipient != $1.recipient }),
            !wraps.isEmpty, wraps.count == live.count * recipients.count, keys.count(where: { $0.state == .active }) == 1,
            sender?.count == (wraps.contains { $0.source == RecoveryRecipient.source } ? RecoverySender.sealedLength : nil),
            wraps.indices.allSatisfy({ place in
                let (wrap, first) = (wraps[place], wraps[place % recipients.count])
                return wrap.key == live[place / recipients.count].id && wrap.recipient == first.recipient && wrap.source == first.source
                    && wrap.recipient.count == KeyIdentity.idLength && wrap.verifier.count == KeyEncryptionKey.verifierLength
                    && wrap.wrapped.count == Wrap.length(for: wrap.source)
            })
        else { throw Keyset.damage }
        (self.keys, self.wraps, self.sender) = (keys, wraps, sender)
    }

    /// A recipient of the data keys, and the source that holds its key.
    package struct Recipient: Hashable, Sendable {
        package let id: [UInt8]
        package let source: String
    }

    /// The recipients: the keys that can unwrap the data keys, sorted by id.
    package var recipients: [Recipient] {
        let first = wraps.first?.key
        return wraps.filter { $0.key == first }.map { Recipient(id: $0.recipient, source: $0.source) }
    }

    /// Returns the ids of the recipients whose keys are in the source with this short name.
    package func ids(ofSource source: String) -> [[UInt8]] { recipients.filter { $0.source == source }.map(\.id) }

    /// The rows of the tables `keys` and `wraps` as fields. The authentication tag of the database's header covers
    /// them.
    package var fields: (keys: Fields, wraps: Fields) {
        var (ofKeys, ofWraps) = (Fields("keys"), Fields("wraps"))
        for key in keys {
            ofKeys.add(key.id)
            ofKeys.add([key.state.rawValue])
        }
        for wrap in wraps {
            ofWraps.add(wrap.key)
            ofWraps.add(wrap.recipient)
            ofWraps.add(wrap.source)
            ofWraps.add(wrap.verifier)
            ofWraps.add(wrap.wrapped)
        }
        return (ofKeys, ofWraps)
    }
}
