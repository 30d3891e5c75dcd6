package import BackendContract
import Crypto

/// One data key as a database stores it: wrapped, and useless without the key-encryption key.
package struct KeysetEntry: Hashable, Sendable {
    /// What may be done with a key.
    package enum State: UInt8, Sendable {
        /// Seals what is written. There is exactly one.
        case active = 1
        /// Opens what it once sealed.
        case decryptOnly = 2
        /// Gone for good, with everything it sealed.
        case destroyed = 3
    }

    package var key: [UInt8]
    package var state: State
    package var kek: [UInt8]
    package var verifier: [UInt8]
    package var wrapped: [UInt8]

    /// Takes a row's columns.
    /// - Throws: ``BackendError`` with `corrupted` for parts of the wrong length, or an unknown state.
    package init(key: [UInt8], state: Int64, kek: [UInt8], verifier: [UInt8], wrapped: [UInt8]) throws(BackendError) {
        guard let number = UInt8(exactly: state), let state = State(rawValue: number), key.count == SealingKey.idLength,
            kek.count == SealingKey.idLength, verifier.count == KeyEncryptionKey.verifierLength,
            wrapped.count == KeyEncryptionKey.overhead + (state == .destroyed ? 0 : SealingKey.keyLength)
        else { throw Keyset.damage }
        self.init(key: key, state: state, kek: kek, verifier: verifier, wrapped: wrapped)
    }

    init(key: [UInt8], state: State, kek: [UInt8], verifier: [UInt8], wrapped: [UInt8]) {
        self.key = key
        self.state = state
        self.kek = kek
        self.verifier = verifier
        self.wrapped = wrapped
    }
}

/// A key-encryption key at work in one database: what is derived from it wraps data keys and does nothing else.
struct KeyEncryptionKey {
    let id: [UInt8]
    let verifier: [UInt8]
    private let wrapping: XAES256GCM
    private let database: [UInt8]

    static let verifierLength = 16
    static let overhead = XAES256GCM.nonceLength + XAES256GCM.tagLength

    init(_ key: SealingKey, database: [UInt8]) throws(BackendError) {
        func derived(_ purpose: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: key.key, salt: database, info: Array("LocalData SQLite 1 \(purpose)".utf8), outputByteCount: count)
        }
        id = key.id
        verifier = derived("verifier", Self.verifierLength).withUnsafeBytes { Array($0) }
        wrapping = try XAES256GCM(key: derived("wrap", SealingKey.keyLength))
        self.database = database
    }

    func wrap(_ key: SymmetricKey, id: [UInt8], _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> KeysetEntry {
        let nonce = randomBytes(XAES256GCM.nonceLength)
        var plain = key.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        let sealed = try wrapping.seal(plain, nonce: nonce, authenticating: context(id, .active))
        return KeysetEntry(key: id, state: .active, kek: self.id, verifier: verifier, wrapped: nonce + sealed)
    }

    /// The data key of an entry; nil for a destroyed one.
    func unwrap(_ entry: KeysetEntry) throws(BackendError) -> SymmetricKey? {
        guard entry.kek == id, entry.verifier == verifier else {
            throw BackendError(
                .encryptionKeyMismatch,
                "The database was sealed with the key \(hexadecimalText(of: entry.kek)); the key given is \(hexadecimalText(of: id))\(entry.kek == id ? ", the same name with other bytes" : ""). Restore the right key; nothing was changed."
            )
        }
        var plain: [UInt8]
        do throws(BackendError) {
            plain = try wrapping.open(
                Array(entry.wrapped.dropFirst(XAES256GCM.nonceLength)), nonce: Array(entry.wrapped.prefix(XAES256GCM.nonceLength)),
                authenticating: context(entry.key, entry.state))
        } catch {
            throw Keyset.damage
        }
        defer { wipe(&plain) }
        return entry.state == .destroyed ? nil : SymmetricKey(data: plain)
    }

    private func context(_ key: [UInt8], _ state: KeysetEntry.State) -> [UInt8] {
        var fields = Fields("LocalData SQLite 1 keyset")
        fields.add(database)
        fields.add(key)
        fields.add([state.rawValue])
        fields.add(id)
        return fields.bytes
    }
}

/// The data keys of a database, unwrapped.
package struct Keyset: Sendable {
    /// The database's id: 16 random bytes.
    package let database: [UInt8]
    /// Seals what is written.
    package let active: DataKey
    /// Open what they once sealed.
    package let decryptOnly: [DataKey]
    /// The ids of keys that are gone, with everything they sealed.
    package let destroyed: Set<[UInt8]>

    /// The number of bytes of a database's id.
    package static let databaseLength = 16

    /// A keyset with one new key, and how it is kept.
    package static func make(
        database: [UInt8], kek: SealingKey, randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> (Keyset, [KeysetEntry]) {
        let id = randomBytes(SealingKey.idLength)
        let key = SymmetricKey.random(randomBytes)
        let entry = try KeyEncryptionKey(kek, database: database).wrap(key, id: id, randomBytes)
        let keyset = Keyset(
            database: database, active: try DataKey(id: id, key: key, database: database), decryptOnly: [], destroyed: [])
        return (keyset, [entry])
    }

    /// Unwraps what a database keeps.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` when another key wrapped it; `corrupted` when it was changed.
    package static func open(_ entries: [KeysetEntry], database: [UInt8], kek: SealingKey) throws(BackendError) -> Keyset {
        let kek = try KeyEncryptionKey(kek, database: database)
        var active: [DataKey] = []
        var decryptOnly: [DataKey] = []
        var destroyed: Set<[UInt8]> = []
        for entry in entries {
            guard let key = try kek.unwrap(entry) else {
                destroyed.insert(entry.key)
                continue
            }
            let dataKey = try DataKey(id: entry.key, key: key, database: database)
            if entry.state == .active { active.append(dataKey) } else { decryptOnly.append(dataKey) }
        }
        guard active.count == 1, let active = active.first else { throw damage }
        return Keyset(database: database, active: active, decryptOnly: decryptOnly, destroyed: destroyed)
    }

    /// The key that an id names; nil when it is not in the set, or destroyed.
    package func key(_ id: UnsafeRawBufferPointer) -> DataKey? {
        guard id.count == SealingKey.idLength else { return nil }
        let number = id.loadUnaligned(as: UInt64.self)
        if active.number == number { return active }
        return decryptOnly.first { $0.number == number }
    }

    /// Binds the header and the keyset together: a tag under the active key over every entry of both.
    package func tag(header: [(name: String, value: [UInt8])], entries: [KeysetEntry]) -> [UInt8] {
        active.tag(Self.fields(header, entries))
    }

    /// Whether a tag is that of this header and keyset.
    package func isTag(_ tag: [UInt8], header: [(name: String, value: [UInt8])], entries: [KeysetEntry]) -> Bool {
        active.isTag(tag, of: Self.fields(header, entries))
    }

    private static func fields(_ header: [(name: String, value: [UInt8])], _ entries: [KeysetEntry]) -> Fields {
        var fields = Fields("LocalData SQLite 1 header")
        for (name, value) in header.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            fields.add(name)
            fields.add(value)
        }
        for entry in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            for part in [entry.key, [entry.state.rawValue], entry.kek, entry.verifier, entry.wrapped] { fields.add(part) }
        }
        return fields
    }

    /// The error of a keyset that is not as it was written.
    package static var damage: BackendError {
        BackendError(
            .corrupted,
            "The database's keys were damaged, or changed by another program. Restore the file from a backup; nothing was changed.")
    }
}
