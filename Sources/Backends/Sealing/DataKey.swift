package import BackendContract
package import Crypto
internal import CryptoExtras
internal import Synchronization

/// A data key of a database, as the nine keys that are derived from it.
///
/// Three derived keys seal: rows, the counts of labels, and the database's state. Five compute keyed hashes: of names,
/// of labels, of unencrypted data, of the slots with a label, and of rows. One encrypts days.
///
/// A label is a property that several values share, such as a type or the day of the last change. Queries find values
/// by labels. The database keeps a ``CountedSum`` of the slots with each label: their number, and the sum of their
/// *terms*. A term is a keyed hash of a slot or row.
package final class DataKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The id of the key, computed by ``KeyIdentity/id(of:)``. It is stored unencrypted with everything that the key
    /// seals.
    package let id: [UInt8]
    /// The cipher that seals rows.
    package let sealing: XAES256GCM
    /// HMAC with the key for names.
    private let indexing: KeyedHash
    private let slots = Slots()
    /// The id as a number, which is faster to compare.
    package let number: UInt64
    private let integrity: KeyedHash
    private let key: SymmetricKey
    // Reading a value by its name does not need these keys. They are derived when they are first needed.
    private let derivedLabels = Mutex<LabelKeys?>(nil)
    private let derivedPresence = Mutex<KeyedHash?>(nil)
    /// The cipher that seals the database's state.
    let stating: XAES256GCM
    /// The id of the database that the keys are derived for.
    package let database: [UInt8]
    /// The beginning of the data that each row is bound to: the purpose, the database and the table of rows.
    package let rowContext: Fields

    /// The number of bytes of a blind index, which is a keyed hash that is stored instead of a name.
    package static let slotLength = 16

    /// Derives the keys with HKDF-SHA256 (RFC 5869). The salt is the id of the database.
    /// - Parameter id: The id of the key; nil to compute it.
    package init(key: SymmetricKey, id: [UInt8]? = nil, database: [UInt8]) throws(BackendError) {
        let keys = KeyDerivation.keys(from: key, salt: database, for: Self.purposes)
        self.id = id ?? KeyIdentity.id(of: key)
        number = self.id.withUnsafeBytes { $0.count == SealingKey.idLength ? $0.loadUnaligned(as: UInt64.self) : 0 }
        sealing = try XAES256GCM(key: keys[0])
        indexing = KeyedHash(key: keys[1])
        integrity = KeyedHash(key: keys[2])
        stating = try XAES256GCM(key: keys[3])
        self.key = key
        self.database = database
        rowContext = Fields("LocalData SQLite 1 record", database, Array("records".utf8))
    }

    private static let purposes = infos(["seal", "index", "integrity", "state"])

    /// Returns the info input of HKDF for each purpose. A static property keeps the ones that each opening of a database needs.
    static func infos(_ purposes: [String]) -> [[UInt8]] { purposes.map { Array("LocalData SQLite 1 \($0)".utf8) } }

    /// The indexes of names in tables. Computing one takes as long as finding its row, and a change needs it several times.
    private final class Slots: Sendable {
        struct Name: Hashable {
            let address: StorageAddress
            let table: String

            func hash(into hasher: inout Hasher) { hasher.combine(address) }
        }

        let known = Mutex<[Name: [UInt8]]>([:])
    }

    /// The keys for labels.
    private struct LabelKeys: Sendable {
        /// HMAC with the key for labels.
        let labelling: KeyedHash
        let daily: SymmetricKey
        /// The cipher that seals the ``CountedSum`` of a label's slots.
        let counting: XAES256GCM
        /// HMAC with the key for the terms of a label's slots.
        let membership: KeyedHash

        init(_ keys: [SymmetricKey]) {
            guard let counting = try? XAES256GCM(key: keys[2]) else { preconditionFailure("A derived key has 32 bytes.") }
            (labelling, daily, self.counting, membership) = (KeyedHash(key: keys[0]), keys[1], counting, KeyedHash(key: keys[3]))
        }
    }

    private var labels: LabelKeys { derivedLabels.known { LabelKeys(derived(["labels", "days", "counts", "members"])) } }

    /// HMAC with the key for the terms of rows.
    var presence: KeyedHash { derivedPresence.known { KeyedHash(key: derived(["rows"])[0]) } }

    private func derived(_ purposes: [String]) -> [SymmetricKey] {
        KeyDerivation.keys(from: key, salt: database, for: Self.infos(purposes))
    }

    /// Returns the blind index of a name: a keyed hash that a table contains instead of the name. Without the key, it
    /// reveals nothing about the name.
    /// - Parameters:
    ///   - address: The namespace and the name.
    ///   - table: The name of the table. The index is a different one in each table.
    package func slot(of address: StorageAddress, table: String) -> [UInt8] {
        let name = Slots.Name(address: address, table: table)
        if let known = slots.known.withLock({ $0[name] }) { return known }
        let slot = computedSlot(of: address, table)
        slots.known.withLock { known in
            if known.count >= 16_384 { known = [:] }
            known[name] = slot
        }
        return slot
    }

    private func computedSlot(of address: StorageAddress, _ table: String) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 slot")
        fields.add(table)
        fields.add(address.namespace.name)
        fields.add(address.name)
        return indexing.code(of: fields, count: Self.slotLength)
    }

    /// Returns the keyed hash of a label, which the table of labels contains instead of the label.
    package func label(of fields: Fields) -> [UInt8] { labels.labelling.code(of: fields, count: Self.slotLength) }

    /// Encrypts the number of a day on which values were last changed, as one AES block.
    /// Reason: "Queries find records by keyed labels" in Docs/Decisions/Database.md.
    /// - Parameters:
    ///   - day: The number of the day.
    ///   - label: The label that the block belongs to. The same day has a different block under each label.
    package func hiddenDay(_ day: Int64, under label: [UInt8]) -> [UInt8] {
        var block = label
        withUnsafeBytes(of: day.bigEndian) { for (place, byte) in $0.enumerated() { block[8 + place] ^= byte } }
        do { try AES.permute(&block, key: labels.daily) } catch { preconditionFailure("A label is a block of AES.") }
        return block
    }

    /// Decrypts a block to the number of a day. Returns nil if the block was not made for this label.
    package func day(hiddenIn block: [UInt8], under label: [UInt8]) -> Int64? {
        var block = block
        guard block.count == label.count, (try? AES.inversePermute(&block, key: labels.daily)) != nil else { return nil }
        for place in block.indices { block[place] ^= label[place] }
        guard block.prefix(8).allSatisfy({ $0 == 0 }) else { return nil }
        return Int64(bitPattern: block.suffix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    /// Returns the term of a slot in the ``CountedSum`` of a label's slots, 32 bytes.
    package func term(of slot: [UInt8], under label: [UInt8]) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 member")
        fields.add(label)
        fields.add(slot)
        return labels.membership.code(of: fields)
    }

    /// Seals the ``CountedSum`` of a label's slots. Returns nonce, ciphertext and tag.
    package func seal(
        _ count: CountedSum, of label: [UInt8], _ randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let nonce = randomBytes(XAES256GCM.nonceLength)
        return nonce + (try labels.counting.seal(count.bytes, nonce: nonce, authenticating: countContext(label)))
    }

    /// Opens the result of ``seal(_:of:_:)``. Returns nil for any other bytes, such as the count of another label or
    /// key.
    package func openCount(_ sealed: [UInt8], of label: [UInt8]) -> CountedSum? {
        guard sealed.count == XAES256GCM.nonceLength + CountedSum.length + XAES256GCM.tagLength else { return nil }
        let nonce = Array(sealed.prefix(XAES256GCM.nonceLength))
        let plain = try? labels.counting.open(Array(sealed.dropFirst(nonce.count)), nonce: nonce, authenticating: countContext(label))
        return plain.flatMap { CountedSum(bytes: $0) }
    }

    private func countContext(_ label: [UInt8]) -> [UInt8] {
        Fields("LocalData SQLite 1 count", database, label, id).bytes
    }

    /// Returns a tag that authenticates unencrypted data, such as the header of the database.
    func tag(_ fields: Fields) -> [UInt8] { integrity.code(of: fields) }

    /// Returns whether a tag belongs to the fields. swift-crypto compares keys in constant time.
    func isTag(_ tag: [UInt8], of fields: Fields) -> Bool { SymmetricKey(data: tag) == SymmetricKey(data: integrity.code(of: fields)) }

    /// The id of the key. The description never contains a key.
    package var description: String { "DataKey(\(hexadecimalText(of: id)))" }
    /// Shows only the id, so that a dump contains no secret.
    package var customMirror: Mirror { Mirror(self, children: ["id": hexadecimalText(of: id)]) }
}

extension Mutex {
    /// Returns the value, and makes it if there is none.
    fileprivate func known<Made: Sendable>(orMade make: () -> Made) -> Made where Value == Made? {
        withLock { known in
            if let known { return known }
            let made = make()
            known = made
            return made
        }
    }
}
