import BackendContract
import BackendRuntime
import Crypto
import Foundation

/// A key pair of a database. It authenticates the data keys that the database wraps for its recovery keys.
///
/// HPKE's base mode does not authenticate the sender. In its authenticated mode, only a database with the private half
/// can wrap a data key for a recovery key. The private half is sealed with the active data key. Each recovery key
/// confirms the public half, see ``RecoveryVoucher``.
struct RecoverySender {
    private let secret: SecretBytes

    /// The number of bytes of the sealed private half: nonce, ciphertext and tag.
    static let sealedLength = XAES256GCM.nonceLength + RecoveryKeyPair.length + XAES256GCM.tagLength
    private static let purpose = "LocalData SQLite 1 recovery sender"

    /// Creates a new key pair.
    init(_ randomBytes: (Int) -> [UInt8]) {
        var bytes = randomBytes(RecoveryKeyPair.length)
        defer { wipe(&bytes) }
        secret = SecretBytes(bytes)
    }

    /// Opens a sealed private half.
    /// - Throws: ``BackendError`` with `corrupted` if the bytes were changed, or sealed with another key or for another
    ///   database.
    init(opening sealed: [UInt8], with key: SymmetricKey, database: [UInt8]) throws(BackendError) {
        guard sealed.count == Self.sealedLength else { throw Keyset.damage }
        var bytes: [UInt8]
        do throws(BackendError) {
            bytes = try Self.cipher(key, database).open(
                Array(sealed.dropFirst(XAES256GCM.nonceLength)), nonce: Array(sealed.prefix(XAES256GCM.nonceLength)),
                authenticating: Self.context(key, database))
        } catch { throw Keyset.damage }
        defer { wipe(&bytes) }
        secret = SecretBytes(bytes)
    }

    /// Seals the private half with a data key. Returns nonce, ciphertext and tag.
    func sealed(with key: SymmetricKey, database: [UInt8], _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> [UInt8] {
        let nonce = randomBytes(XAES256GCM.nonceLength)
        var bytes = secret.withBytes { Array($0) }
        defer { wipe(&bytes) }
        return nonce + (try Self.cipher(key, database).seal(bytes, nonce: nonce, authenticating: Self.context(key, database)))
    }

    private static func cipher(_ key: SymmetricKey, _ database: [UInt8]) throws(BackendError) -> XAES256GCM {
        try XAES256GCM(key: KeyDerivation.key(from: key, salt: database, for: purpose.utf8))
    }

    private static func context(_ key: SymmetricKey, _ database: [UInt8]) -> [UInt8] {
        Fields(purpose, database, KeyIdentity.id(of: key)).bytes
    }

    /// The public half, 32 bytes.
    var publicKey: [UInt8] { withPrivateKey { Array($0.publicKey.rawRepresentation) } }

    /// Calls a closure with the private half.
    func withPrivateKey<R>(_ body: (Curve25519.KeyAgreement.PrivateKey) -> R) -> R {
        secret.withBytes { body(RecoveryKeyPair.privateKey($0)) }
    }
}

/// A recovery key's statement that a sender belongs to a database. It is made when the recovery key is added to the
/// database. Only the private half of the recovery key can make it.
/// Reason: "A recovery key vouches for each database that it is added to" in Docs/Decisions/Keys.md.
///
/// The voucher has 80 bytes: the database's id at that time, the sender's public half, and a tag. The tag authenticates
/// the id and the public half, and is computed with the recovery key.
struct RecoveryVoucher: Hashable, Sendable {
    /// The id that the database had when the recovery key was added.
    let origin: [UInt8]
    /// The sender's public half.
    let sender: [UInt8]
    private let tag: [UInt8]

    static let length = Keyset.databaseLength + RecoveryKeyPair.length + tagLength
    private static let tagLength = 32

    /// Creates the voucher of a recovery key for a sender.
    init(of sender: [UInt8], origin: [UInt8], by key: RecoveryKeyPair) {
        (self.sender, self.origin) = (sender, origin)
        tag = key.tag(of: Self.fields(sender, origin))
    }

    /// Parses the voucher at the beginning of a wrapped data key.
    init(_ wrapped: [UInt8]) throws(BackendError) {
        guard wrapped.count >= Self.length else { throw Keyset.damage }
        origin = Array(wrapped[..<Keyset.databaseLength])
        sender = Array(wrapped[Keyset.databaseLength..<Self.length - Self.tagLength])
        tag = Array(wrapped[(Self.length - Self.tagLength)..<Self.length])
    }

    var bytes: [UInt8] { origin + sender + tag }

    /// Returns whether a recovery key made the voucher.
    func isMade(by key: RecoveryKeyPair) -> Bool { key.isTag(tag, of: Self.fields(sender, origin)) }

    private static func fields(_ sender: [UInt8], _ origin: [UInt8]) -> Fields {
        Fields("LocalData SQLite 1 recovery voucher", origin, sender)
    }
}
