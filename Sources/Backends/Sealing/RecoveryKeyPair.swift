package import BackendContract
internal import BackendRuntime
internal import Crypto
internal import Foundation

/// A recovery key: an X25519 key pair. Its private half is stored outside the machine, for example on paper or in a
/// safe.
///
/// A database and a backup store only the public half. Software on the machine can therefore seal new data keys for the
/// recovery key, but cannot open them.
///
/// Sealing uses HPKE (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. A database uses HPKE's
/// authenticated mode with its key pair, the ``RecoverySender``. A backup uses the base mode, and adds a tag that only
/// the recovery key can make.
package struct RecoveryKeyPair: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: SecretBytes

    /// The number of bytes in each half of the pair.
    package static let length = 32
    /// The number of bytes that sealing adds: the encapsulated key and the tag.
    package static let overhead = 32 + 16

    /// Creates a new key pair.
    /// - Parameter randomBytes: Returns the given number of unpredictable bytes.
    package init(_ randomBytes: (Int) -> [UInt8]) {
        var bytes = randomBytes(Self.length)
        defer { wipe(&bytes) }
        secret = SecretBytes(bytes)
    }

    /// The public half, 32 bytes.
    package var publicKey: [UInt8] { withPrivateKey { Array($0.publicKey.rawRepresentation) } }

    /// Opens a message that ``RecoveryRecipient/seal(_:for:from:authenticating:)`` sealed.
    /// - Parameters:
    ///   - sealed: The encapsulated key, the ciphertext and the tag.
    ///   - purpose: The purpose that the message was sealed for.
    ///   - sender: The public half of the expected sender; nil for a message in the base mode, which has no sender.
    ///   - associatedData: The data that the message is bound to.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` if the message was changed, or was sealed for another
    ///   key or purpose, or by another sender.
    package func open(
        _ sealed: [UInt8], for purpose: String, from sender: [UInt8]? = nil, authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let result = withPrivateKey { key in
            Result {
                let (suite, info) = (RecoveryRecipient.suite, Data(purpose.utf8))
                let encapsulated = try Self.publicKey(sealed.prefix(32)).rawRepresentation
                var recipient =
                    if let sender {
                        try HPKE.Recipient(
                            privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: encapsulated,
                            authenticatedBy: Self.publicKey(sender))
                    } else {
                        try HPKE.Recipient(privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: encapsulated)
                    }
                var content = try recipient.open(Data(sealed.dropFirst(32)), authenticating: Data(associatedData))
                defer { content.withUnsafeMutableBytes { wipe($0) } }
                return Array(content)
            }
        }
        do { return try result.get() } catch {
            throw BackendError(
                .encryptionKeyMismatch, "This recovery key does not open the data: it was sealed for another key, or it was changed.")
        }
    }

    private func withPrivateKey<R>(_ body: (Curve25519.KeyAgreement.PrivateKey) -> R) -> R {
        secret.withBytes { body(Self.privateKey($0)) }
    }

    static func privateKey(_ bytes: UnsafeRawBufferPointer) -> Curve25519.KeyAgreement.PrivateKey {
        do { return try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes) } catch {
            preconditionFailure("Every 32 bytes are a private key of X25519.")
        }
    }

    /// Returns the public key of X25519 with these bytes.
    ///
    /// A key of low order is refused: with every private key, its shared secret is 32 zero bytes, which everyone knows.
    /// RFC 9180 (section 7.1.4) requires this check. swift-crypto (4.5) leaves it to the caller.
    /// - Throws: `CryptoKitError` with `incorrectKeySize` unless there are 32 bytes; ``BackendError`` with `corrupted`
    ///   for a key of low order.
    static func publicKey(_ bytes: some ContiguousBytes) throws -> Curve25519.KeyAgreement.PublicKey {
        let key = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes)
        let anyOther = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: [UInt8](repeating: 1, count: length))
        let secret = try anyOther.sharedSecretFromKeyAgreement(with: key)
        guard secret.withUnsafeBytes({ secret in secret.contains { $0 != 0 } }) else {
            throw BackendError(.corrupted, "The public key is a point of low order, which gives no shared secret.")
        }
        return key
    }

    // MARK: Tags

    /// Returns a tag that only this recovery key can make.
    ///
    /// The tag is HMAC-SHA256. Its key is HKDF-SHA256 of the private half, with the info `LocalData recovery 1 tag`.
    /// - Parameter fields: The fields to authenticate. They begin with a purpose.
    func tag(of fields: Fields) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: tagKey)) }

    /// Returns whether this key made a tag for these fields. The comparison takes constant time.
    func isTag(_ tag: [UInt8], of fields: Fields) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: fields.bytes, using: tagKey)
    }

    private var tagKey: SymmetricKey {
        KeyDerivation.key(from: secret.withBytes { SymmetricKey(data: $0) }, for: "LocalData recovery 1 tag".utf8)
    }

    // MARK: As text

    /// The alphabet of ``text``: Crockford's Base32, which leaves out I, L, O and U.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    /// The number of characters for the key: 256 bits, five bits for each character, and four zero bits at the end.
    private static let keyCharacters = 52
    /// The number of characters for the checksum: the first 20 bits of SHA-256 of `LocalData recovery key 1` and the
    /// key.
    private static let checkCharacters = 4
    private static let groupLength = 4

    /// The private half as text to write down: 14 groups of 4 characters. The last group is a checksum. The text is a
    /// secret.
    package var text: String {
        secret.withBytes { bytes in
            var characters = Self.characters(of: bytes, count: Self.keyCharacters) + Self.checksum(of: bytes)
            defer { wipe(&characters) }
            return stride(from: 0, to: characters.count, by: Self.groupLength)
                .map { String(decoding: characters[$0..<$0 + Self.groupLength], as: UTF8.self) }.joined(separator: "-")
        }
    }

    /// Parses ``text`` as a person types it. Separators and case do not matter. The letter O is read as 0, the letters
    /// I and L as 1.
    /// - Throws: ``BackendError`` with `invalidRecoveryKey`. Its message says what is wrong, and never contains the
    ///   text.
    package init(text: String) throws(BackendError) {
        var numbers: [UInt8] = []
        defer { wipe(&numbers) }
        numbers.reserveCapacity(Self.keyCharacters + Self.checkCharacters)
        for byte in text.utf8 where !" -\t\r\n".utf8.contains(byte) {
            guard let number = Self.number(of: byte), numbers.count < Self.keyCharacters + Self.checkCharacters else {
                throw Self.malformed("Group \(numbers.count / Self.groupLength + 1) has a character that no recovery key has.")
            }
            numbers.append(number)
        }
        guard numbers.count == Self.keyCharacters + Self.checkCharacters else {
            throw Self.malformed("It has \(numbers.count) characters; a recovery key has \(Self.keyCharacters + Self.checkCharacters).")
        }
        var bytes = [UInt8](repeating: 0, count: Self.length)
        defer { wipe(&bytes) }
        for bit in 0..<Self.length * 8 where numbers[bit / 5] & (16 >> UInt8(bit % 5)) != 0 { bytes[bit / 8] |= 128 >> UInt8(bit % 8) }
        let hasRest = numbers[Self.keyCharacters - 1] & 0b1111 != 0
        let check = numbers.suffix(Self.checkCharacters).map { Self.alphabet[Int($0)] }
        guard !hasRest, bytes.withUnsafeBytes({ Self.checksum(of: $0) }) == check else {
            throw Self.malformed("Its checksum is wrong: a character or a group was mistyped or exchanged.")
        }
        secret = SecretBytes(bytes)
    }

    private static func checksum(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("LocalData recovery key 1".utf8))
        hash.update(bufferPointer: bytes)
        return hash.finalize().withUnsafeBytes { characters(of: $0, count: checkCharacters) }
    }

    /// Encodes the first bits of the bytes, five bits for each character. Bits after the end are zero.
    private static func characters(of bytes: UnsafeRawBufferPointer, count: Int) -> [UInt8] {
        (0..<count).map { place in
            var number = 0
            for bit in place * 5..<place * 5 + 5 {
                number <<= 1
                if bit / 8 < bytes.count, bytes[bit / 8] & (128 >> UInt8(bit % 8)) != 0 { number |= 1 }
            }
            return alphabet[number]
        }
    }

    private static func number(of byte: UInt8) -> UInt8? {
        switch byte & 0xDF {
        case UInt8(ascii: "O"): 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): 1
        case let capital:
            alphabet.firstIndex(of: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? byte : capital).map(UInt8.init)
        }
    }

    private static func malformed(_ reason: String) -> BackendError {
        BackendError(.invalidRecoveryKey, "The text is not a recovery key. \(reason) Compare it with what was written down.")
    }

    /// The first 8 bytes of the public half. The description never contains the private half.
    package var description: String { "RecoveryKeyPair(\(hexadecimalText(of: publicKey.prefix(8))))" }
    /// Shows no children, so that a dump contains no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public half of a recovery key. A machine uses it to seal data for the recovery key.
package struct RecoveryRecipient: Hashable, Sendable {
    /// The X25519 public key, 32 bytes.
    package let publicKey: [UInt8]

    static var suite: HPKE.Ciphersuite { HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256) }

    /// Creates a recipient from a public key.
    /// - Throws: ``BackendError`` with `corrupted` unless the key has 32 bytes.
    package init(publicKey: [UInt8]) throws(BackendError) {
        guard publicKey.count == RecoveryKeyPair.length else {
            throw BackendError(.corrupted, "The public half of a recovery key has 32 bytes, this one has \(publicKey.count).")
        }
        self.publicKey = publicKey
    }

    /// Seals content that only the recovery key can open. HPKE takes the ephemeral key of each message from the
    /// system's random generator.
    /// - Parameters:
    ///   - content: The content to encrypt and authenticate. Its length stays visible.
    ///   - purpose: The purpose of the message. Opening needs the same purpose.
    ///   - sender: The sender, for HPKE's authenticated mode; nil for the base mode.
    ///   - associatedData: The data that the message is bound to. Opening needs the same data.
    /// - Returns: The encapsulated key (32 bytes), the ciphertext and the tag.
    func seal(
        _ content: [UInt8], for purpose: String, from sender: RecoverySender? = nil, authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let (publicKey, info) = (publicKey, Data(purpose.utf8))
        func sealed(_ own: Curve25519.KeyAgreement.PrivateKey?) -> Result<[UInt8], any Error> {
            Result {
                let key = try RecoveryKeyPair.publicKey(publicKey)
                var message =
                    if let own {
                        try HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: info, authenticatedBy: own)
                    } else {
                        try HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: info)
                    }
                let sealed = try message.seal(content, authenticating: associatedData)
                return Array(message.encapsulatedKey) + Array(sealed)
            }
        }
        do { return try (sender.map { $0.withPrivateKey(sealed) } ?? sealed(nil)).get() } catch {
            throw BackendError(.corrupted, "The public half of the recovery key cannot be used: it was changed.")
        }
    }
}

extension BackendError.Code {
    /// The text is not a recovery key.
    package static let invalidRecoveryKey = BackendError.Code("invalidRecoveryKey")
}
