import BackendContract
import BackendRuntime
import Crypto
import TestSupport
import Testing

@testable import Sealing

/// Tests that both implementations of AES and HMAC give the same bytes, and open what the other one sealed.
@Suite(.slow("goes through real files many times"), .inTurn) struct CipherImplementationTests {
    private static let lengths = [0, 1, 15, 16, 17, 31, 32, 33, 55, 56, 63, 64, 65, 127, 128, 500, 5_000]

    private func ciphers(_ key: [UInt8]) throws -> [XAES256GCM] {
        try CipherImplementation.allCases.map { try XAES256GCM(key: SymmetricKey(data: key), by: $0) }
    }

    @Test func `this build calls BoringSSL directly`() { #expect(CipherImplementation.preferred == .boringSSL) }

    @Test(arguments: lengths) func `both implementations seal to the same bytes and open them`(length: Int) throws {
        var random = SHAKE128()
        random.absorb(Array("\(length)".utf8))
        let (key, nonce, content) = (random.squeeze(32), random.squeeze(24), random.squeeze(length))
        for place in [random.squeeze(0), random.squeeze(length)] {
            let ciphers = try ciphers(key)
            let sealed = try ciphers.map { try $0.seal(content, nonce: nonce, authenticating: place) }
            #expect(sealed[0] == sealed[1])
            for cipher in ciphers { #expect(try cipher.open(sealed[0], nonce: nonce, authenticating: place) == content) }
        }
    }

    @Test(arguments: CipherImplementation.allCases)
    func `a change of any input is detected`(implementation: CipherImplementation) throws {
        let (nonce, place) = (Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8), Array("a place".utf8))
        let cipher = try XAES256GCM(key: SymmetricKey(data: [UInt8](repeating: 1, count: 32)), by: implementation)
        let sealed = try cipher.seal(Array("content".utf8), nonce: nonce, authenticating: place)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: BackendError.self) { try cipher.open(changed, nonce: nonce, authenticating: place) }
        }
        for index in nonce.indices {
            var changed = nonce
            changed[index] ^= 1
            #expect(throws: BackendError.self) { try cipher.open(sealed, nonce: changed, authenticating: place) }
        }
        #expect(throws: BackendError.self) { try cipher.open(sealed, nonce: nonce, authenticating: place + [0]) }
        for length in [0, 15, 16, sealed.count - 1] {
            #expect(throws: BackendError.self) { try cipher.open(Array(sealed.prefix(length)), nonce: nonce, authenticating: place) }
        }
    }

    @Test(arguments: lengths) func `both implementations compute the HMAC of swift-crypto`(length: Int) throws {
        var random = SHAKE128()
        random.absorb(Array("\(length)".utf8))
        for keyLength in [0, 1, 32, 63, 64] {
            let (key, text) = (random.squeeze(keyLength), String(repeating: "é", count: length))
            var fields = Fields("a purpose")
            fields.add(text)
            let expected = Array(HMAC<SHA256>.authenticationCode(for: fields.bytes, using: SymmetricKey(data: key)))
            for implementation in CipherImplementation.allCases {
                let hash = KeyedHash(key: SymmetricKey(data: key), by: implementation)
                #expect(hash.code(of: fields) == expected)
                #expect(hash.code(of: fields, count: 16) == Array(expected.prefix(16)))
            }
        }
    }
}
