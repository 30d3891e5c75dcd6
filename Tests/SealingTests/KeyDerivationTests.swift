import BackendContract
import Crypto
import Testing

@testable import Sealing

/// Tests of HKDF-SHA256 against RFC 5869 and against swift-crypto.
struct KeyDerivationTests {
    private func derived(_ key: [UInt8], salt: [UInt8], _ info: [UInt8], _ count: Int) -> [UInt8] {
        KeyDerivation.key(from: SymmetricKey(data: key), salt: salt, for: info, count: count).withUnsafeBytes { Array($0) }
    }

    /// Source: RFC 5869, appendix A, test cases 1 to 3.
    @Test func `derived keys match the test vectors of RFC 5869`() {
        let key = [UInt8](repeating: 0x0B, count: 22)
        #expect(
            hexadecimalText(of: derived(key, salt: Array(0...0x0C), Array(0xF0...0xF9), 42))
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        #expect(
            hexadecimalText(of: derived(Array(0...0x4F), salt: Array(0x60...0xAF), Array(0xB0...0xFF), 82))
                == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        )
        #expect(
            hexadecimalText(of: derived(key, salt: [], [], 42))
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }

    @Test(arguments: [0, 1, 32, 63, 64, 65, 200], [0, 1, 55, 56, 64, 200])
    func `swift-crypto derives the same keys`(saltLength: Int, purposeLength: Int) {
        for (keyLength, count) in [(1, 1), (32, 8), (32, 32), (64, 33), (100, 96), (32, 8_160)] {
            func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max) } }
            let (key, salt, purpose) = (bytes(keyLength), bytes(saltLength), bytes(purposeLength))
            let expected = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: key), salt: salt, info: purpose, outputByteCount: count)
            #expect(derived(key, salt: salt, purpose, count) == expected.withUnsafeBytes { Array($0) })
        }
    }
}
