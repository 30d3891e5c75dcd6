import Crypto
import Foundation

/// HPKE (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM, written from the RFC.
///
/// swift-crypto computes the Diffie-Hellman secrets of a message with random keys. Here, a test passes the secrets.
/// So a test can make the message that has a given secret.
struct IndependentHPKE {
    /// A mode of HPKE. The raw value is the mode's number in the RFC.
    enum Mode: UInt8 {
        case base = 0
        case auth = 2
    }

    /// The secret that the KEM gives.
    let sharedSecret: [UInt8]
    /// The key of AES-256-GCM.
    let key: [UInt8]
    /// The nonce of the first message.
    let baseNonce: [UInt8]

    /// Derives the key and the nonce of a context.
    /// - Parameters:
    ///   - secrets: The result of X25519 for the ephemeral key and the recipient's key. In the mode `auth`, the result
    ///     for the sender's key and the recipient's key follows.
    ///   - publicKeys: The public halves: of the ephemeral key, of the recipient, and in the mode `auth` of the sender.
    ///   - info: The information that both sides agree on.
    init(_ mode: Mode, secrets: [UInt8], publicKeys: [UInt8], info: [UInt8]) {
        let kem: [UInt8] = Array("KEM".utf8) + [0x00, 0x20]
        let suite: [UInt8] = Array("HPKE".utf8) + [0x00, 0x20, 0x00, 0x01, 0x00, 0x02]
        sharedSecret = Self.expand(Self.extract(secrets, "eae_prk", kem), "shared_secret", publicKeys, 32, kem)
        let context = [mode.rawValue] + Self.extract([], "psk_id_hash", suite) + Self.extract(info, "info_hash", suite)
        let secret = Self.extract([], "secret", suite, salt: sharedSecret)
        key = Self.expand(secret, "key", context, 32, suite)
        baseNonce = Self.expand(secret, "base_nonce", context, 12, suite)
    }

    /// `LabeledExtract` of the RFC.
    private static func extract(_ material: [UInt8], _ label: String, _ suite: [UInt8], salt: [UInt8] = []) -> [UInt8] {
        let material = SymmetricKey(data: labelled([], suite, label, material))
        return HKDF<SHA256>.extract(inputKeyMaterial: material, salt: salt).withUnsafeBytes { Array($0) }
    }

    /// `LabeledExpand` of the RFC. The count is below 256.
    private static func expand(_ key: [UInt8], _ label: String, _ info: [UInt8], _ count: Int, _ suite: [UInt8]) -> [UInt8] {
        let info = labelled([0, UInt8(count)], suite, label, info)
        return HKDF<SHA256>.expand(pseudoRandomKey: key, info: info, outputByteCount: count).withUnsafeBytes { Array($0) }
    }

    private static func labelled(_ length: [UInt8], _ suite: [UInt8], _ label: String, _ rest: [UInt8]) -> [UInt8] {
        var bytes = length
        bytes += "HPKE-v1".utf8
        bytes += suite
        bytes += label.utf8
        bytes += rest
        return bytes
    }

    /// Seals the first message of the context. Returns the ciphertext and the tag.
    func seal(_ content: [UInt8], authenticating associatedData: [UInt8]) throws -> [UInt8] {
        let box = try AES.GCM.seal(
            content, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: baseNonce), authenticating: associatedData)
        return Array(box.ciphertext) + Array(box.tag)
    }

    /// Opens the first message of the context.
    func open(_ sealed: [UInt8], authenticating associatedData: [UInt8]) throws -> [UInt8] {
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: baseNonce), ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))
        return Array(try AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: associatedData))
    }

    /// Returns the result of X25519, 32 bytes.
    static func secret(_ privateKey: [UInt8], _ publicKey: [UInt8]) throws -> [UInt8] {
        let own = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey)
        let other = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
        return try own.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) }
    }
}
