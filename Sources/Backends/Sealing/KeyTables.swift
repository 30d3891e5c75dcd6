package import BackendContract

/// The data keys of a database as it stores them: which there are, and each of them wrapped for each recipient.
package struct KeyTables: Hashable, Sendable {
    /// What may be done with a key.
    package enum State: UInt8, Sendable {
        /// Seals what is written. There is exactly one.
        case active = 1
        /// Opens what it once sealed.
        case decryptOnly = 2
        /// Gone for good, with everything it sealed. It is wrapped for nobody.
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
        /// The id of the key-encryption key.
        package var recipient: [UInt8]
        /// The short name of the source that keeps the key-encryption key.
        package var source: String
        package var verifier: [UInt8]
        package var wrapped: [UInt8]

        /// Creates a row.
        package init(key: [UInt8], recipient: [UInt8], source: String, verifier: [UInt8], wrapped: [UInt8]) {
            (self.key, self.recipient, self.source, self.verifier, self.wrapped) = (key, recipient, source, verifier, wrapped)
        }
    }

    /// The data keys, in the order of their ids.
    package let keys: [Key]
    /// The wrapped data keys, in the order of the ids of key and recipient.
    package let wraps: [Wrap]
    /// The private half of the ``RecoverySender``, sealed with the active data key; nil while there is no recovery key.
    package let sender: [UInt8]?

    /// Takes the rows of both tables, and the sealed sender.
    /// - Throws: ``BackendError`` with `corrupted` unless exactly one key is active, each key that was not destroyed is wrapped once
    ///   for each recipient, and no other, and there is a sender exactly if there is a recovery key.
    package init(keys: [Key], wraps: [Wrap], sender: [UInt8]? = nil) throws(BackendError) {
        let ids = Set(keys.map(\.id))
        let recipients = Dictionary(grouping: wraps, by: \.recipient)
        let live = Set(keys.filter { $0.state != .destroyed }.map(\.id))
        guard ids.count == keys.count, ids.allSatisfy({ $0.count == KeyIdentity.idLength }), !recipients.isEmpty,
            keys.count(where: { $0.state == .active }) == 1,
            sender?.count == (wraps.contains { $0.source == RecoveryRecipient.source } ? RecoverySender.sealedLength : nil),
            recipients.values.allSatisfy({ $0.count == live.count && Set($0.map(\.key)) == live && Set($0.map(\.source)).count == 1 }),
            wraps.allSatisfy({
                $0.recipient.count == KeyIdentity.idLength && $0.verifier.count == KeyEncryptionKey.verifierLength
                    && $0.wrapped.count == Wrap.length(for: $0.source)
            })
        else { throw Keyset.damage }
        self.keys = keys.sorted { $0.id.lexicographicallyPrecedes($1.id) }
        self.wraps = wraps.sorted { ($0.key + $0.recipient).lexicographicallyPrecedes($1.key + $1.recipient) }
        self.sender = sender
    }

    /// A recipient of the data keys, and where its key is kept.
    package struct Recipient: Hashable, Sendable {
        package let id: [UInt8]
        package let source: String
    }

    /// Everybody who can unwrap the data keys, in the order of the ids.
    package var recipients: [Recipient] {
        let first = wraps.first?.key
        return wraps.filter { $0.key == first }.map { Recipient(id: $0.recipient, source: $0.source) }
    }

    /// The ids of the keys of a source that can unwrap the data keys.
    package func ids(ofSource source: String) -> [[UInt8]] { recipients.filter { $0.source == source }.map(\.id) }

    /// The rows as fields, for the header's tag.
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
