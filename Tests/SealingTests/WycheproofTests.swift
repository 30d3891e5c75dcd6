import BackendContract
import Crypto
import Foundation
import Testing

@testable import Sealing

/// Tests with the vectors of Project Wycheproof, in `Tests/Fixtures/wycheproof`. The vectors are edge cases in which
/// other implementations made mistakes.
///
/// Each test counts the vectors that it has checked, so that it fails if a file is empty or a part of it is missing.
@Suite struct WycheproofTests {
    /// Calls AES-GCM of swift-crypto as `Envelope` and `SealedStream` do: they seal arrays and open parts. Also calls the
    /// implementations that `XAES256GCM` uses, with the key of the vector as that of a message.
    @Test func `AES-256-GCM gives the bytes of each valid vector, and opens no invalid one`() throws {
        var checked: [String: Int] = [:]
        for vector in try PublishedVector.all(in: "wycheproof/aes-256-gcm.txt") {
            let result = try vector.text("result")
            let key = SymmetricKey(data: try vector.hex("key"))
            let (bytes, data, content) = (try vector.hex("iv"), try vector.hex("aad"), try vector.hex("msg"))
            let sealed = try vector.hex("ct") + vector.hex("tag")
            guard bytes.count >= 12 else {
                // swift-crypto refuses nonces below 96 bits, including those that NIST SP 800-38D allows.
                #expect(throws: (any Error).self, "\(vector)") { try AES.GCM.Nonce(data: bytes) }
                checked["\(result), short nonce", default: 0] += 1
                continue
            }
            let nonce = try AES.GCM.Nonce(data: bytes)
            let made: [AES.GCM.SealedBox] = [
                try AES.GCM.seal(content, using: key, nonce: nonce, authenticating: data),
                try content.withUnsafeBytes { try AES.GCM.seal($0, using: key, nonce: nonce, authenticating: data) },
            ]
            for box in made {
                let bytes: [UInt8] = Array(box.ciphertext) + Array(box.tag)
                #expect((bytes == sealed) == (result == "valid"), "\(vector)")
            }
            var boxes = [try AES.GCM.SealedBox(nonce: nonce, ciphertext: sealed.dropLast(16), tag: sealed.suffix(16))]
            if bytes.count == 12 {
                boxes.append(try (bytes + sealed).withUnsafeBytes { try AES.GCM.SealedBox(combined: $0) })
            }
            for box in boxes {
                let opened = (try? AES.GCM.open(box, using: key, authenticating: data)).map { Array($0) }
                #expect(opened == (result == "valid" ? content : nil), "\(vector)")
            }
            for implementation in CipherImplementation.allCases where bytes.count == 12 {
                let opened = try open(sealed, key: try vector.hex("key"), nonce: bytes, data, implementation)
                #expect(opened == (result == "valid" ? content : nil), "\(vector)")
                let again = try seal(content, key: try vector.hex("key"), nonce: bytes, data, implementation)
                #expect((again == sealed) == (result == "valid"), "\(vector)")
            }
            checked[result, default: 0] += 1
        }
        #expect(checked == ["valid": 64, "invalid": 27, "valid, short nonce": 12, "invalid, short nonce": 2])
    }

    private func message<R>(
        _ key: [UInt8], _ nonce: [UInt8], _ data: [UInt8], _ body: (SealedMessage) throws -> R
    ) rethrows -> R {
        try key.withUnsafeBytes { key in
            try nonce.withUnsafeBytes { nonce in
                try data.withUnsafeBytes { try body(SealedMessage(key: key, nonce: nonce, associatedData: $0)) }
            }
        }
    }

    private func seal(
        _ content: [UInt8], key: [UInt8], nonce: [UInt8], _ data: [UInt8], _ implementation: CipherImplementation
    ) throws -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: content.count + 16)
        let isSealed = message(key, nonce, data) { message in
            content.withUnsafeBytes { content in
                sealed.withUnsafeMutableBytes { implementation.cipher(SymmetricKey(data: key)).seal(content, message, into: $0) }
            }
        }
        try #require(isSealed)
        return sealed
    }

    private func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], _ data: [UInt8], _ implementation: CipherImplementation
    ) throws -> [UInt8]? {
        var content = [UInt8](repeating: 0, count: sealed.count - 16)
        let isOpen = message(key, nonce, data) { message in
            sealed.withUnsafeBytes { sealed in
                content.withUnsafeMutableBytes { implementation.cipher(SymmetricKey(data: key)).open(sealed, message, into: $0) }
            }
        }
        return isOpen ? content : nil
    }

    /// Calls `KeyDerivation`, the library's HKDF, and the HKDF of swift-crypto, with which HPKE derives its keys.
    @Test func `HKDF-SHA-256 derives the key of each valid vector`() throws {
        var checked: [String: Int] = [:]
        for vector in try PublishedVector.all(in: "wycheproof/hkdf-sha256.txt") {
            let (result, count) = (try vector.text("result"), try vector.number("size"))
            checked[result, default: 0] += 1
            guard result == "valid" else {
                // Each invalid vector has one byte more than HKDF-SHA-256 gives. The next test asks for that length.
                #expect(count == 8_161, "\(vector)")
                continue
            }
            let key = SymmetricKey(data: try vector.hex("ikm"))
            let (salt, purpose) = (try vector.hex("salt"), try vector.hex("info"))
            let expected = SymmetricKey(data: try vector.hex("okm"))
            #expect(KeyDerivation.key(from: key, salt: salt, for: purpose, count: count) == expected, "\(vector)")
            // The keys of one call are derived in the same memory. None may depend on the key before it.
            let keys = KeyDerivation.keys(from: key, salt: salt, for: [purpose, [1, 2, 3], purpose], count: count)
            #expect(keys[0] == expected && keys[2] == expected, "\(vector)")
            let theirs = HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: purpose, outputByteCount: count)
            #expect(theirs == expected, "\(vector)")
        }
        #expect(checked == ["valid": 83, "invalid": 3])
    }

    /// Calls `KeyDerivation`. All lengths are constants in the code, so a wrong one is a mistake in the program.
    @Test func `HKDF-SHA-256 ends the program if it is asked for more than 8,160 bytes`() async {
        await #expect(processExitsWith: .failure) {
            _ = KeyDerivation.key(from: SymmetricKey(size: .bits256), for: [] as [UInt8], count: 8_161)
        }
    }

    /// Calls HMAC of swift-crypto as the library does: with the whole message, and to verify a tag. Also calls the
    /// implementations of `KeyedHash`, each with a prepared key, and the HMAC inside `KeyDerivation`.
    @Test func `HMAC-SHA-256 gives the tag of each valid vector, and accepts no tag of an invalid one`() throws {
        var checked: [String: Int] = [:]
        for vector in try PublishedVector.all(in: "wycheproof/hmac-sha256.txt") {
            let isValid = try vector.text("result") == "valid"
            let (keyBytes, message, tag) = (try vector.hex("key"), try vector.hex("msg"), try vector.hex("tag"))
            let key = SymmetricKey(data: keyBytes)
            let code = HMAC<SHA256>.authenticationCode(for: message, using: key).withUnsafeBytes { Array($0) }
            #expect(code.starts(with: tag) == isValid, "\(vector)")
            for implementation in CipherImplementation.allCases where keyBytes.count <= 64 {
                let prepared = KeyedHash(key: key, by: implementation)
                for _ in 1...2 {
                    var again = [UInt8](repeating: 0, count: 32)
                    message.withUnsafeBytes { message in again.withUnsafeMutableBytes { prepared.compute(message, into: $0) } }
                    #expect(again == code, "\(vector)")
                }
            }
            // The library verifies whole tags only. It uses shortened ones as names, and never verifies them.
            let isAccepted = HMAC<SHA256>.isValidAuthenticationCode(tag, authenticating: message, using: key)
            #expect(isAccepted == (isValid && tag.count == 32), "\(vector)")
            if tag.count == 32 {
                // HKDF with the vector's key as the salt and the message as the key first computes the tag. The first
                // 32 bytes of its result are then the HMAC of the byte 1 under the tag.
                let derived = KeyDerivation.key(from: SymmetricKey(data: message), salt: keyBytes, for: [] as [UInt8])
                let expected = HMAC<SHA256>.authenticationCode(for: [1] as [UInt8], using: SymmetricKey(data: tag))
                #expect((derived == SymmetricKey(data: expected)) == isValid, "\(vector)")
            }
            checked["\(isValid ? "valid" : "invalid"), \(tag.count) bytes", default: 0] += 1
        }
        #expect(checked == ["valid, 32 bytes": 33, "invalid, 32 bytes": 54, "valid, 16 bytes": 33, "invalid, 16 bytes": 54])
    }

    // MARK: X25519

    private let purpose = "LocalData vector"
    private let content = Array("a data key".utf8)
    private let data = Array("associated data".utf8)

    /// Calls X25519 of swift-crypto with a private key that `RecoveryKeyPair` makes. Then `RecoveryKeyPair.open` opens a
    /// message whose keys were derived from the shared secret of the vector, so HPKE must compute the same secret.
    ///
    /// An implementation may refuse the public keys of "acceptable" vectors, such as points on the twist and numbers
    /// that are not reduced. The library accepts them, so it must compute their secrets. The next test has the
    /// exceptions: the public keys that give zero.
    @Test func `X25519 gives the shared secret of each vector, and a recovery key opens the message with that secret`() throws {
        var checked: [String: Int] = [:]
        for vector in try PublishedVector.all(in: "wycheproof/x25519.txt") {
            guard try !vector.hasFlag("ZeroSharedSecret") else { continue }
            let (publicKey, privateKey, secret) = (try vector.hex("public"), try vector.hex("private"), try vector.hex("shared"))
            let own = privateKey.withUnsafeBytes { RecoveryKeyPair.privateKey($0) }
            let other = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
            let computed = try own.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) }
            #expect(computed == secret, "\(vector)")
            let recovery = RecoveryKeyPair { _ in privateKey }
            let context = IndependentHPKE(
                .base, secrets: secret, publicKeys: publicKey + recovery.publicKey, info: Array(purpose.utf8))
            let sealed = publicKey + (try context.seal(content, authenticating: data))
            let opened = try? recovery.open(sealed, for: purpose, authenticating: data)
            #expect(opened == content, "\(vector)")
            checked[try vector.text("result"), default: 0] += 1
        }
        #expect(checked == ["valid": 264, "acceptable": 223])
    }

    /// Calls `RecoveryKeyPair.open` and `RecoveryRecipient.seal`. The public keys of these vectors are points of low
    /// order: the shared secret is zero with every private key, so everyone can compute the keys of the message.
    /// RFC 9180 (section 7.1.4) requires that HPKE refuses such a secret.
    @Test func `a public key with which every shared secret is zero can be no ephemeral key, sender or recipient`() throws {
        var checked: [String: Int] = [:]
        let zero = [UInt8](repeating: 0, count: 32)
        let info = Array(purpose.utf8)
        let ephemeral = [UInt8](repeating: 5, count: 32)
        let ephemeralHalf = RecoveryKeyPair { _ in ephemeral }.publicKey
        let sender = RecoverySender { [UInt8](repeating: 3, count: $0) }
        for vector in try PublishedVector.all(in: "wycheproof/x25519.txt") {
            guard try vector.hasFlag("ZeroSharedSecret") else { continue }
            let (lowOrder, privateKey) = (try vector.hex("public"), try vector.hex("private"))
            #expect(try vector.hex("shared") == zero, "\(vector)")
            let recovery = RecoveryKeyPair { _ in privateKey }
            let half = recovery.publicKey

            let base = IndependentHPKE(.base, secrets: zero, publicKeys: lowOrder + half, info: info)
            let sealed = lowOrder + (try base.seal(content, authenticating: data))
            let refusal = #expect(throws: BackendError.self, "\(vector)") {
                try recovery.open(sealed, for: purpose, authenticating: data)
            }
            #expect(refusal?.code == .encryptionKeyMismatch, "\(vector)")

            let secrets = try IndependentHPKE.secret(ephemeral, half) + zero
            let auth = IndependentHPKE(.auth, secrets: secrets, publicKeys: ephemeralHalf + half + lowOrder, info: info)
            let forged = ephemeralHalf + (try auth.seal(content, authenticating: data))
            let refusalOfSender = #expect(throws: BackendError.self, "\(vector)") {
                try recovery.open(forged, for: purpose, from: lowOrder, authenticating: data)
            }
            #expect(refusalOfSender?.code == .encryptionKeyMismatch, "\(vector)")

            for author in [nil, sender] {
                let refusalOfRecipient = #expect(throws: BackendError.self, "\(vector)") {
                    try RecoveryRecipient(publicKey: lowOrder).seal(content, for: purpose, from: author, authenticating: data)
                }
                #expect(refusalOfRecipient?.code == .corrupted, "\(vector)")
            }
            checked[try vector.text("result"), default: 0] += 1
        }
        #expect(checked == ["acceptable": 31])
    }
}
