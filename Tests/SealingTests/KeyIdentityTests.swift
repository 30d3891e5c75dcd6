import BackendContract
import Crypto
import Testing

@testable import Sealing

/// Tests of the id and the commitment that identify a key.
@Suite struct KeyIdentityTests {
    /// Computed with the independent reader: `key_id` and `key_commitment` in Tests/Fixtures/sealed-sqlite/reader.py.
    @Test func `the id and the commitment match the independent reader`() {
        let identity = KeyIdentity(of: SymmetricKey(data: Array(0..<32) as [UInt8]))
        #expect(hexadecimalText(of: identity.id) == "15e7eff5d3771539")
        #expect(hexadecimalText(of: identity.commitment) == "a88c271d30d5712d21e43e207ed341e3937b6ce186c9178a60a0789a925e4bdf")
        #expect(KeyIdentity(text: identity.text) == identity)
    }

    @Test func `a text that is not an id and a commitment is refused`() {
        let text = KeyIdentity(of: SymmetricKey(size: .bits256)).text
        for index in 0..<text.count { #expect(KeyIdentity(text: String(text.prefix(index))) == nil) }
        #expect(KeyIdentity(text: text + "00") == nil)
        #expect(KeyIdentity(text: text.replacing(" ", with: "")) == nil)
    }

    @Test func `the text of a key with a wrong id is refused, with both ids in the error`() throws {
        let (key, other) = (SealingKey(key: SymmetricKey(size: .bits256)), SealingKey(key: SymmetricKey(size: .bits256)))
        let forged = key.text.replacing(hexadecimalText(of: key.id), with: hexadecimalText(of: other.id))
        let error = try #require(throws: BackendError.self) { try SealingKey(text: forged) }
        #expect(error.code == .encryptionKeyMismatch)
        #expect(error.reason.contains(hexadecimalText(of: key.id)) && error.reason.contains(hexadecimalText(of: other.id)))
    }
}
