import BackendContract
import BackendRuntime
import Crypto

/// A key-encryption key for one database. The keys that are derived from it only wrap and identify data keys.
struct KeyEncryptionKey {
    let id: [UInt8]
    let verifier: [UInt8]
    private let wrapping: XAES256GCM
    private let database: [UInt8]

    private static let purposes = DataKey.infos(["verifier", "wrap"])
    static let verifierLength = 32
    static let overhead = XAES256GCM.nonceLength + XAES256GCM.tagLength

    /// Derives the wrapping key and the verifier with HKDF-SHA256 (RFC 5869). The salt is the id of the database. The
    /// verifier is stored with each wrapped data key, and detects another key with the same id.
    init(_ key: SealingKey, database: [UInt8]) throws(BackendError) {
        let keys = KeyDerivation.keys(from: key.key, salt: database, for: Self.purposes)
        id = key.id
        verifier = keys[0].withUnsafeBytes { Array($0) }
        wrapping = try XAES256GCM(key: keys[1])
        self.database = database
    }

    /// Wraps a data key.
    /// - Parameters:
    ///   - key: The data key.
    ///   - source: The short name of the source that holds this key-encryption key.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    /// - Throws: ``BackendError`` with `invalidName` if the source has the name that is reserved for recovery keys.
    func wrap(_ key: SymmetricKey, source: String, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> KeyTables.Wrap {
        guard source != RecoveryRecipient.source else {
            throw BackendError(.invalidName, "A key source cannot have the name \"\(source)\". Give it another one; nothing was changed.")
        }
        let nonce = randomBytes(XAES256GCM.nonceLength)
        let keyID = KeyIdentity.id(of: key)
        var plain = key.withUnsafeBytes { Array($0) }
        defer { wipe(&plain) }
        let sealed = try wrapping.seal(plain, nonce: nonce, authenticating: context(keyID, source))
        return KeyTables.Wrap(key: keyID, recipient: id, source: source, verifier: verifier, wrapped: nonce + sealed)
    }

    /// Unwraps a data key.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` if another key wrapped it; `corrupted` if the wrapped key
    ///   was changed, or contains a data key with another id.
    func unwrap(_ wrap: KeyTables.Wrap) throws(BackendError) -> SymmetricKey {
        guard wrap.recipient == id, wrap.verifier == verifier else { throw mismatch([wrap]) }
        var plain: [UInt8]
        do throws(BackendError) {
            plain = try wrapping.open(
                Array(wrap.wrapped.dropFirst(XAES256GCM.nonceLength)), nonce: Array(wrap.wrapped.prefix(XAES256GCM.nonceLength)),
                authenticating: context(wrap.key, wrap.source))
        } catch {
            throw Keyset.damage
        }
        defer { wipe(&plain) }
        let key = SymmetricKey(data: plain)
        guard KeyIdentity.id(of: key) == wrap.key else { throw Keyset.damage }
        return key
    }

    /// The error for data keys that are wrapped for other keys than this one.
    func mismatch(_ wraps: [KeyTables.Wrap]) -> BackendError {
        let right = Set(wraps.map { hexadecimalText(of: $0.recipient) }).sorted().joined(separator: " or ")
        let sameID = wraps.contains { $0.recipient == id }
        return BackendError(
            .encryptionKeyMismatch,
            "The database was sealed for the key \(right); the key given is \(hexadecimalText(of: id))\(sameID ? ", the same id with other bytes" : ""). Restore the right key; nothing was changed."
        )
    }

    private func context(_ key: [UInt8], _ source: String) -> [UInt8] {
        Fields("LocalData SQLite 1 wrap", database, key, id, Array(source.utf8)).bytes
    }
}
