package import BackendContract
internal import BackendRuntime
internal import Crypto
internal import Foundation

/// A key that is kept outside the machine, on paper or in a safe, and opens what was sealed for its public half.
///
/// It is a key pair of X25519. A database and a backup keep the public half alone, so new data keys can be sealed for it at any time, and
/// nothing on the machine opens them. What is sealed for it is sealed with HPKE (RFC 9180): DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.
/// A database uses the authenticated mode, with the key of its ``RecoverySender``. A backup uses the base mode, and a tag of the recovery key.
package struct RecoveryKeyPair: Sendable, CustomStringConvertible, CustomReflectable {
    private let secret: SecretBytes

    /// The number of bytes in either half.
    package static let length = 32
    /// The bytes that sealing adds: the encapsulated key and the tag.
    package static let overhead = 32 + 16

    /// Creates a new key.
    /// - Parameter randomBytes: Gives a number of unpredictable bytes.
    package init(_ randomBytes: (Int) -> [UInt8]) {
        var bytes = randomBytes(Self.length)
        defer { wipe(&bytes) }
        secret = SecretBytes(bytes)
    }

    /// The public half: 32 bytes.
    package var publicKey: [UInt8] { withPrivateKey { Array($0.publicKey.rawRepresentation) } }

    /// Opens what ``RecoveryRecipient/seal(_:for:from:authenticating:)`` made.
    /// - Parameters:
    ///   - sealed: The encapsulated key, the ciphertext and the tag.
    ///   - purpose: What it was sealed for.
    ///   - sender: The public half of the sender who must have sealed it; nil for what was sealed without one.
    ///   - associatedData: What it is bound to.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` when it was sealed for another key, for another purpose or by another sender, or was changed.
    package func open(
        _ sealed: [UInt8], for purpose: String, from sender: [UInt8]? = nil, authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let result = withPrivateKey { key in
            Result {
                let (suite, info, encapsulated) = (RecoveryRecipient.suite, Data(purpose.utf8), Data(sealed.prefix(32)))
                var recipient =
                    if let sender {
                        try HPKE.Recipient(
                            privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: encapsulated,
                            authenticatedBy: Curve25519.KeyAgreement.PublicKey(rawRepresentation: sender))
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
                .encryptionKeyMismatch, "This recovery key does not open it: it is another one's, or what was sealed has been changed.")
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

    // MARK: Tags

    /// The tag that only this key makes: HMAC-SHA256 under HKDF-SHA256 of the private half (info: `LocalData recovery 1 tag`). The fields begin with a purpose.
    func tag(of fields: Fields) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: tagKey)) }

    /// Whether a tag is this key's; takes the same time wherever they differ.
    func isTag(_ tag: [UInt8], of fields: Fields) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: fields.bytes, using: tagKey)
    }

    private var tagKey: SymmetricKey {
        KeyDerivation.key(from: secret.withBytes { SymmetricKey(data: $0) }, for: "LocalData recovery 1 tag".utf8)
    }

    // MARK: As text

    /// The characters of ``text``: those of Crockford's Base32, which leaves out I, L, O and U.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    /// Characters of the key itself: 256 bits, five in each, and four zeros at the end.
    private static let keyCharacters = 52
    /// Characters of the checksum: the first 20 bits of SHA-256 of `LocalData recovery key 1` and the key.
    private static let checkCharacters = 4
    private static let groupLength = 4

    /// The key to be written down: 14 groups of 4 characters. The last group is a checksum. This is a secret.
    package var text: String {
        secret.withBytes { bytes in
            var characters = Self.characters(of: bytes, count: Self.keyCharacters) + Self.checksum(of: bytes)
            defer { wipe(&characters) }
            return stride(from: 0, to: characters.count, by: Self.groupLength)
                .map { String(decoding: characters[$0..<$0 + Self.groupLength], as: UTF8.self) }.joined(separator: "-")
        }
    }

    /// Reads ``text`` as people type it: with or without separators, in capitals or not, O for 0, I and L for 1.
    /// - Throws: ``BackendError`` with `invalidRecoveryKey`, which says what is wrong with the text and never repeats it.
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

    /// The first bits of some bytes, five to a character; zeros after their end.
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

    /// The first bytes of the public half, never the key.
    package var description: String { "RecoveryKeyPair(\(hexadecimalText(of: publicKey.prefix(8))))" }
    /// Nothing: a dump shows no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public half of a recovery key: what a machine keeps to seal for it.
package struct RecoveryRecipient: Hashable, Sendable {
    /// 32 bytes of X25519.
    package let publicKey: [UInt8]

    static var suite: HPKE.Ciphersuite { HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256) }

    /// Takes a public key.
    /// - Throws: ``BackendError`` with `corrupted` for one of another length.
    package init(publicKey: [UInt8]) throws(BackendError) {
        guard publicKey.count == RecoveryKeyPair.length else {
            throw BackendError(.corrupted, "The public half of a recovery key has 32 bytes, this one has \(publicKey.count).")
        }
        self.publicKey = publicKey
    }

    /// Seals a content that only the recovery key opens. The key of each message is the system's own randomness.
    /// - Parameters:
    ///   - content: What is hidden and protected; its length stays visible.
    ///   - purpose: What it is sealed for.
    ///   - sender: Who seals it, in HPKE's authenticated mode; nil for the base mode.
    ///   - associatedData: What it is bound to.
    /// - Returns: The encapsulated key (32 bytes), the ciphertext and the tag.
    package func seal(
        _ content: [UInt8], for purpose: String, from sender: RecoverySender? = nil, authenticating associatedData: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        let (publicKey, info) = (publicKey, Data(purpose.utf8))
        func sealed(_ own: Curve25519.KeyAgreement.PrivateKey?) -> Result<[UInt8], any Error> {
            Result {
                let key = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
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
    /// A text is not a recovery key.
    package static let invalidRecoveryKey = BackendError.Code("invalidRecoveryKey")
}
