import BackendContract
import Crypto
import Foundation
import Testing

@testable import Sealing

/// Tests with the vectors of RFC 9180, in `Tests/Fixtures/hpke`: the two modes of HPKE that recovery keys use, with
/// their ciphersuite.
///
/// The library seals one message with each encapsulated key. So it opens only the first message of a setup.
@Suite struct HPKEVectorTests {
    private struct Setup {
        let vector: PublishedVector
        let mode: IndependentHPKE.Mode
        let purpose: String
        let encapsulated: [UInt8]
        let recovery: RecoveryKeyPair
        /// The sender's public half; nil in the base mode.
        let sender: [UInt8]?
        let messages: [PublishedVector]
    }

    private func setups() throws -> [Setup] {
        let messages = try PublishedVector.all(in: "hpke/messages.txt")
        return try PublishedVector.all(in: "hpke/setups.txt").map { vector in
            let (name, info, recipient) = (try vector.text("mode"), try vector.hex("info"), try vector.hex("skRm"))
            let sender = try vector.hex("pkSm")
            let purpose = String(decoding: info, as: UTF8.self)
            #expect(Array(purpose.utf8) == info)
            return Setup(
                vector: vector, mode: name == "auth" ? .auth : .base, purpose: purpose, encapsulated: try vector.hex("enc"),
                recovery: RecoveryKeyPair { _ in recipient }, sender: name == "auth" ? sender : nil,
                messages: try messages.filter { try $0.text("mode") == name })
        }
    }

    /// Calls `RecoveryKeyPair.open`.
    @Test func `a recovery key opens the first message of each setup in its mode, and no other message`() throws {
        var (opened, refused) = (0, 0)
        for setup in try setups() {
            let recovery = setup.recovery
            #expect(try recovery.publicKey == setup.vector.hex("pkRm"))
            for (number, message) in setup.messages.enumerated() {
                let sealed = setup.encapsulated + (try message.hex("ct"))
                let (data, expected) = (try message.hex("aad"), try message.hex("pt"))
                #expect(try message.number("number") == number, "\(message)")
                let content = try? recovery.open(sealed, for: setup.purpose, from: setup.sender, authenticating: data)
                #expect(content == (number == 0 ? expected : nil), "\(message)")
                if number == 0 { opened += 1 } else { refused += 1 }
                guard number == 0 else { continue }
                for sender in [nil, recovery.publicKey, setup.encapsulated] where sender != setup.sender {
                    let error = #expect(throws: BackendError.self, "\(message)") {
                        try recovery.open(sealed, for: setup.purpose, from: sender, authenticating: data)
                    }
                    #expect(error?.code == .encryptionKeyMismatch, "\(message)")
                }
            }
        }
        #expect(opened == 2 && refused == 512)
    }

    /// Calls HPKE of swift-crypto as `RecoveryKeyPair.open` does, with the library's ciphersuite.
    @Test func `a recipient of swift-crypto opens all messages of each setup in their order`() throws {
        var opened: [String: Int] = [:]
        for setup in try setups() {
            let (info, encapsulated) = (Data(setup.purpose.utf8), Data(setup.encapsulated))
            let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: setup.vector.hex("skRm"))
            var recipient =
                if let sender = setup.sender {
                    try HPKE.Recipient(
                        privateKey: key, ciphersuite: RecoveryRecipient.suite, info: info, encapsulatedKey: encapsulated,
                        authenticatedBy: Curve25519.KeyAgreement.PublicKey(rawRepresentation: sender))
                } else {
                    try HPKE.Recipient(
                        privateKey: key, ciphersuite: RecoveryRecipient.suite, info: info, encapsulatedKey: encapsulated)
                }
            for message in setup.messages {
                let content = try recipient.open(Data(try message.hex("ct")), authenticating: Data(try message.hex("aad")))
                #expect(try Array(content) == message.hex("pt"), "\(message)")
                opened["\(setup.mode)", default: 0] += 1
            }
        }
        #expect(opened == ["base": 257, "auth": 257])
    }

    /// Calls `RecoveryRecipient.seal`. swift-crypto chooses the ephemeral key of a message, so the result cannot be
    /// compared with the vector. `IndependentHPKE` opens it, after it has derived the keys of the vector.
    @Test func `an independent implementation gives the keys of each setup, and opens the messages that the library seals`() throws {
        var opened = 0
        for setup in try setups() {
            let (vector, info) = (setup.vector, Array(setup.purpose.utf8))
            let recipient = try vector.hex("skRm")
            let (half, senderHalf) = (try vector.hex("pkRm"), setup.sender ?? [])
            let senderKey = try vector.hex("skSm")
            let message = try #require(setup.messages.first)
            let (data, content) = (try message.hex("aad"), try message.hex("pt"))

            var secrets = try IndependentHPKE.secret(vector.hex("skEm"), half)
            if setup.mode == .auth { secrets += try IndependentHPKE.secret(senderKey, half) }
            let published = IndependentHPKE(
                setup.mode, secrets: secrets, publicKeys: setup.encapsulated + half + senderHalf, info: info)
            #expect(try published.sharedSecret == vector.hex("shared_secret"))
            #expect(try published.key == vector.hex("key"))
            #expect(try published.baseNonce == vector.hex("base_nonce"))
            #expect(try published.seal(content, authenticating: data) == message.hex("ct"))

            let sender = setup.mode == .auth ? RecoverySender { _ in senderKey } : nil
            #expect(sender?.publicKey == setup.sender)
            let sealed = try RecoveryRecipient(publicKey: half).seal(
                content, for: setup.purpose, from: sender, authenticating: data)
            let encapsulated = Array(sealed.prefix(32))
            #expect(encapsulated != setup.encapsulated)
            secrets = try IndependentHPKE.secret(recipient, encapsulated)
            if setup.mode == .auth { secrets += try IndependentHPKE.secret(recipient, senderHalf) }
            let made = IndependentHPKE(setup.mode, secrets: secrets, publicKeys: encapsulated + half + senderHalf, info: info)
            #expect(try made.open(Array(sealed.dropFirst(32)), authenticating: data) == content)
            opened += 1
        }
        #expect(opened == 2)
    }
}
