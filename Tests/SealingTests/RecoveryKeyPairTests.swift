import BackendContract
import TestSupport
import Testing

@testable import Sealing

/// Tests of recovery keys: the text that people write down, and sealing for the public half.
/// A sender is a key pair of a database, with which it seals for recovery keys. A voucher is the confirmation by a recovery key that
/// a sender belongs to a database.
struct RecoveryKeyPairTests {
    private let seeds = Arbitrary<UInt64>.number
    private let contents = Arbitrary<[UInt8]>.bytes()

    private static func key(_ seed: UInt64) -> RecoveryKeyPair {
        var generator = SeededGenerator(seed)
        return RecoveryKeyPair { count in (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) } }
    }

    /// Made with the X25519 and the AES of Python's `cryptography`: Tests/SealingTests/recovery-vector.py.
    private let text = "0410-6105-0R3G-G28A-1C60-T3GF-208H-44RM-2MB1-E60S-38DH-R78Y-3WG0-Z1WJ"

    @Test func `a key and sealed content from another implementation are read`() throws {
        let key = try RecoveryKeyPair(text: text)
        #expect(key.text == text)
        #expect(
            hexadecimalText(of: key.publicKey) == "07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c")
        let sealed = try #require(
            bytes(
                ofHexadecimal:
                    "5714769d116bf76436ae74bc793d2c30ad1903c59ac5273805c7e2698b410c36e0d86c1bb80eeeac607e1235bb9c602ec9d19ff40d132832e7e0"
            ))
        let content = try key.open(sealed, for: "LocalData vector", authenticating: Array("of this test".utf8))
        #expect(content == Array("a data key".utf8))
        let sender = try #require(bytes(ofHexadecimal: "4c29f4996985e80d247e80b70303824592ff9fbad74904ea7c3d2bda24e51c12"))
        let authenticated = try #require(
            bytes(
                ofHexadecimal:
                    "5714769d116bf76436ae74bc793d2c30ad1903c59ac5273805c7e2698b410c36e59e2bdebfcd121b184f8edaa97e2ebc51ce9b0b586269b11da2"
            ))
        #expect(
            try key.open(authenticated, for: "LocalData vector", from: sender, authenticating: Array("of this test".utf8)) == content)
        let voucher = RecoveryVoucher(of: sender, origin: Array(0..<16), by: key)
        #expect(
            hexadecimalText(of: voucher.bytes)
                == "000102030405060708090a0b0c0d0e0f4c29f4996985e80d247e80b70303824592ff9fbad74904ea7c3d2bda24e51c128a8bd2c19b3c47ee5f26741793d18f5270babbd079f7165bd201088985c79d24"
        )
    }

    @Test func `content opens only with the sender that sealed it, and a voucher is valid only for the recovery key that made it`() async {
        await forAll(zip(contents, zip(seeds, seeds)), count: 50) { content, seeds in
            let (key, other) = (Self.key(seeds.0), Self.key(seeds.1 ^ 1))
            guard key.publicKey != other.publicKey else { return }
            let (sender, stranger) = (
                RecoverySender { [UInt8](repeating: 3, count: $0) }, RecoverySender { [UInt8](repeating: 4, count: $0) }
            )
            let recipient = try RecoveryRecipient(publicKey: key.publicKey)
            let sealed = try recipient.seal(content, for: "test", from: sender, authenticating: [1])
            try same(sealed.count, content.count + RecoveryKeyPair.overhead, "the length")
            try same(try? key.open(sealed, for: "test", from: sender.publicKey, authenticating: [1]), content, "the content")
            try same(try? key.open(sealed, for: "test", from: stranger.publicKey, authenticating: [1]), nil, "another sender")
            try same(try? key.open(sealed, for: "test", authenticating: [1]), nil, "no sender")
            let unsigned = try recipient.seal(content, for: "test", authenticating: [1])
            try same(try? key.open(unsigned, for: "test", from: sender.publicKey, authenticating: [1]), nil, "sealed by nobody")
            let voucher = RecoveryVoucher(of: sender.publicKey, origin: [UInt8](repeating: 9, count: 16), by: key)
            try same(voucher.isMade(by: key), true, "its own voucher")
            try same(voucher.isMade(by: other), false, "a voucher of another key")
            for place in voucher.bytes.indices {
                var changed = voucher.bytes
                changed[place] ^= 1
                try same(try RecoveryVoucher(changed).isMade(by: key), false, "with byte \(place) changed")
            }
        }
    }

    @Test func `a recovery key is read in the variants that people type`() throws {
        let spoken = text.replacing("-", with: " ").lowercased().replacing("0", with: "o").replacing("1", with: "l")
        for typed in [spoken, text.replacing("-", with: ""), "\n\(text)\r\n", spoken.replacing("l", with: "i")] {
            #expect(try RecoveryKeyPair(text: typed).text == text)
        }
    }

    @Test func `no mistyped, missing, extra or exchanged character or group is accepted as a key`() throws {
        let characters = Array(text)
        var tries = 0
        func expectRefusal(_ typed: String, _ how: String) {
            guard typed != text else { return }
            tries += 1
            let error = #expect(throws: BackendError.self, "\(how)") { try RecoveryKeyPair(text: typed) }
            #expect(error?.code == .invalidRecoveryKey)
            #expect(error.map { typed.count < 8 || !$0.reason.contains(typed) } == true)
        }
        for place in characters.indices where characters[place] != "-" {
            for other in "0123456789ABCDEFGHJKMNPQRSTVWXYZU!\u{E9}" {
                var typed = characters
                typed[place] = other
                expectRefusal(String(typed), "\(other) at \(place)")
            }
            var typed = characters
            typed.remove(at: place)
            expectRefusal(String(typed), "without \(place)")
            typed = characters
            typed.insert("7", at: place)
            expectRefusal(String(typed), "7 more at \(place)")
            if place + 1 < characters.count, characters[place + 1] != "-" {
                typed = characters
                typed.swapAt(place, place + 1)
                expectRefusal(String(typed), "exchanged at \(place)")
            }
        }
        let groups = text.split(separator: "-")
        for first in groups.indices {
            for second in groups.indices where first < second {
                var typed = groups
                typed.swapAt(first, second)
                expectRefusal(typed.joined(separator: "-"), "groups \(first) and \(second) exchanged")
            }
        }
        for typed in ["", "-", String(text.prefix(20)), text + "-0000", String(repeating: "0", count: 56)] { expectRefusal(typed, typed) }
        #expect(tries > 1_900)
    }

    @Test func `sealed content opens only with its key, for its purpose and with its associated data`() async {
        await forAll(zip(contents, zip(seeds, seeds)), count: 100) { content, seeds in
            let (key, other) = (Self.key(seeds.0), Self.key(seeds.1))
            let recipient = try RecoveryRecipient(publicKey: key.publicKey)
            let sealed = try recipient.seal(content, for: "test", authenticating: [1, 2])
            try same(sealed.count, content.count + RecoveryKeyPair.overhead, "the length")
            try same(try? key.open(sealed, for: "test", authenticating: [1, 2]), content, "the content")
            try same(try? key.open(sealed, for: "another", authenticating: [1, 2]), nil, "for another purpose")
            try same(try? key.open(sealed, for: "test", authenticating: [1]), nil, "in another place")
            if other.publicKey != key.publicKey {
                try same(try? other.open(sealed, for: "test", authenticating: [1, 2]), nil, "another key")
            }
            for place in sealed.indices {
                var changed = sealed
                changed[place] ^= 1
                try same(try? key.open(changed, for: "test", authenticating: [1, 2]), nil, "with byte \(place) changed")
            }
            for length in [0, 31, 32, 47, sealed.count - 1] where length < sealed.count {
                try same(try? key.open(Array(sealed.prefix(length)), for: "test", authenticating: [1, 2]), nil, "\(length) bytes of it")
            }
            try same(try RecoveryKeyPair(text: key.text).publicKey, key.publicKey, "the key as text")
        }
    }

    @Test func `a description or a dump does not reveal a key`() throws {
        let key = try RecoveryKeyPair(text: text)
        var dumped = ""
        dump(key, to: &dumped)
        for shown in ["\(key)", String(reflecting: key), dumped] {
            #expect(!shown.contains("0102030405"))
            #expect(!shown.contains(text.prefix(9)))
        }
    }
}
