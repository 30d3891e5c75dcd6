package import BackendContract
package import Crypto
internal import CryptoExtras

/// A data key of a database, as the keys that are derived from it: one seals rows, one hides names, one authenticates what is not
/// encrypted, and two hide what values are found by.
package struct DataKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key's id, ``KeyIdentity/id(of:)``: unencrypted beside everything the key seals.
    package let id: [UInt8]
    /// Seals rows.
    package let sealing: XAES256GCM
    /// Initialised with the indexing key: the same for every name.
    private let indexing: HMAC<SHA256>
    /// The id as a number, to compare by.
    let number: UInt64
    private let integrity: SymmetricKey
    /// Initialised with the key of labels.
    private let labelling: HMAC<SHA256>
    private let daily: SymmetricKey
    /// Seals how many slots a label has.
    private let counting: XAES256GCM
    /// Initialised with the key of the terms that stand for a label's slots.
    private let membership: HMAC<SHA256>
    /// Seals the database's state.
    let stating: XAES256GCM
    /// Initialised with the key of the terms that stand for rows.
    let presence: HMAC<SHA256>
    /// The id that the database had when the key was made.
    package let database: [UInt8]

    /// The number of bytes of a slot's blind index.
    package static let slotLength = 16

    /// Derives the keys with HKDF-SHA256 (RFC 5869), the database's id being the salt.
    package init(key: SymmetricKey, database: [UInt8]) throws(BackendError) {
        func derived(_ purpose: String) -> SymmetricKey {
            KeyDerivation.key(from: key, salt: database, for: "LocalData SQLite 1 \(purpose)".utf8)
        }
        id = KeyIdentity.id(of: key)
        number = id.withUnsafeBytes { $0.count == SealingKey.idLength ? $0.loadUnaligned(as: UInt64.self) : 0 }
        sealing = try XAES256GCM(key: derived("seal"))
        indexing = HMAC(key: derived("index"))
        integrity = derived("integrity")
        labelling = HMAC(key: derived("labels"))
        daily = derived("days")
        counting = try XAES256GCM(key: derived("counts"))
        membership = HMAC(key: derived("members"))
        stating = try XAES256GCM(key: derived("state"))
        presence = HMAC(key: derived("rows"))
        self.database = database
    }

    /// The blind index of a name: a keyed hash that replaces it in a table, and says nothing about it without the key.
    package func slot(of address: StorageAddress, table: String) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 slot")
        fields.add(table)
        fields.add(address.namespace.name)
        fields.add(address.name)
        var code = indexing
        fields.bytes.withUnsafeBytes { code.update(data: $0) }
        return code.finalize().withUnsafeBytes { Array($0.prefix(Self.slotLength)) }
    }

    /// The keyed hash of something that values have in common, for the table of labels.
    package func label(of fields: Fields) -> [UInt8] {
        var code = labelling
        fields.bytes.withUnsafeBytes { code.update(data: $0) }
        return code.finalize().withUnsafeBytes { Array($0.prefix(Self.slotLength)) }
    }

    /// A day's number as one encrypted block, which does not even show its distance from another day.
    /// - Parameter label: The label that the block belongs to: the same day is another block under another label.
    package func hiddenDay(_ day: Int64, under label: [UInt8]) -> [UInt8] {
        var block = label
        withUnsafeBytes(of: day.bigEndian) { for (place, byte) in $0.enumerated() { block[8 + place] ^= byte } }
        do { try AES.permute(&block, key: daily) } catch { preconditionFailure("A label is a block of AES.") }
        return block
    }

    /// The day in a block; nil when there is none in it.
    package func day(hiddenIn block: [UInt8], under label: [UInt8]) -> Int64? {
        var block = block
        guard block.count == label.count, (try? AES.inversePermute(&block, key: daily)) != nil else { return nil }
        for place in block.indices { block[place] ^= label[place] }
        guard block.prefix(8).allSatisfy({ $0 == 0 }) else { return nil }
        return Int64(bitPattern: block.suffix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    /// The 32 bytes that stand for a slot in the sum of a label's slots.
    package func term(of slot: [UInt8], under label: [UInt8]) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 member")
        fields.add(label)
        fields.add(slot)
        var code = membership
        fields.bytes.withUnsafeBytes { code.update(data: $0) }
        return code.finalize().withUnsafeBytes { Array($0) }
    }

    /// Seals how many slots a label has: nonce, ciphertext, tag.
    package func seal(
        _ count: CountedSum, of label: [UInt8], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let nonce = randomBytes(XAES256GCM.nonceLength)
        return nonce + (try counting.seal(count.bytes, nonce: nonce, authenticating: countContext(label)))
    }

    /// Opens what ``seal(_:of:_:)`` made; nil for anything else, such as the count of another label or key.
    package func openCount(_ sealed: [UInt8], of label: [UInt8]) -> CountedSum? {
        guard sealed.count == XAES256GCM.nonceLength + CountedSum.length + XAES256GCM.tagLength else { return nil }
        let nonce = Array(sealed.prefix(XAES256GCM.nonceLength))
        let plain = try? counting.open(Array(sealed.dropFirst(nonce.count)), nonce: nonce, authenticating: countContext(label))
        return plain.flatMap { CountedSum(bytes: $0) }
    }

    private func countContext(_ label: [UInt8]) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 count")
        for part in [database, label, id] { fields.add(part) }
        return fields.bytes
    }

    /// The tag of something that is not encrypted.
    func tag(_ fields: Fields) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: integrity)) }

    /// Whether a tag is that of the fields; takes the same time wherever they differ.
    func isTag(_ tag: [UInt8], of fields: Fields) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: fields.bytes, using: integrity)
    }

    /// The key's id, never a key.
    package var description: String { "DataKey(\(hexadecimalText(of: id)))" }
    /// The id alone.
    package var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: id)]) }
}
