import BackendContract
import BackendRuntime
import Crypto
import Sealing
import TestSupport
import Testing

/// Tests of the cipher of sealed rows, with the vectors of C2SP (c2sp.org/XAES-256-GCM) and with changed inputs.
@Suite(.slow("goes through real files many times"), .inTurn) struct XAES256GCMTests {
    private let cipher: XAES256GCM
    private let nonce = Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8)
    private let place = Array("a place".utf8)

    init() throws { cipher = try Self.cipher(repeating: 1) }

    private static func cipher(repeating byte: UInt8) throws -> XAES256GCM {
        try XAES256GCM(key: SymmetricKey(data: [UInt8](repeating: byte, count: 32)))
    }

    @Test(arguments: [
        // The top bit of AES(0) is 0 for the first key and 1 for the second.
        // Together they cover both branches of the subkey derivation.
        (UInt8(1), "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (UInt8(3), "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ])
    func `sealing gives the published vectors, and they open`(byte: UInt8, associatedData: String, expected: String) throws {
        let cipher = try Self.cipher(repeating: byte)
        let sealed = try cipher.seal(Array("XAES-256-GCM".utf8), nonce: nonce, authenticating: Array(associatedData.utf8))
        #expect(hexadecimalText(of: sealed) == expected)
        #expect(try cipher.open(sealed, nonce: nonce, authenticating: Array(associatedData.utf8)) == Array("XAES-256-GCM".utf8))
    }

    @Test(.slow("ten thousand messages without optimisation")) func `ten thousand random messages have the published digest`() throws {
        var random = SHAKE128()
        var start = SHAKE128()
        #expect(hexadecimalText(of: start.squeeze(16)) == "7f9c2ba4e88f827d616045507605853e")
        var digest = SHAKE128()
        for _ in 0..<10_000 {
            let cipher = try XAES256GCM(key: SymmetricKey(data: random.squeeze(32)))
            let nonce = random.squeeze(24)
            let content = random.squeeze(Int(random.squeeze(1)[0]))
            let associatedData = random.squeeze(Int(random.squeeze(1)[0]))
            let sealed = try cipher.seal(content, nonce: nonce, authenticating: associatedData)
            digest.absorb(sealed)
            let opened = try (nonce + sealed).withUnsafeBytes { try cipher.open(nonceAndSealed: $0, authenticating: associatedData) }
            guard opened == content else {
                Issue.record("A message did not open as it was sealed.")
                return
            }
        }
        #expect(hexadecimalText(of: digest.squeeze(32)) == "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939")
    }

    @Test(arguments: [0, 1, 15, 16, 17, 200, 5_000])
    func `content of any length is sealed and opened, also from memory that is not aligned`(length: Int) throws {
        let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let sealed = try cipher.seal(content, nonce: nonce, authenticating: place)
        #expect(sealed.count == length + XAES256GCM.tagLength)
        #expect(try cipher.open(sealed, nonce: nonce, authenticating: place) == content)
        // A row as in a database: one byte precedes it, so that the content is not aligned.
        let row = [9] + nonce + sealed
        let opened = try row.withUnsafeBytes {
            try cipher.open(nonceAndSealed: UnsafeRawBufferPointer(rebasing: $0[1...]), authenticating: place)
        }
        #expect(opened == content)
    }

    @Test func `an empty buffer without an address is sealed and opened`() throws {
        let sealed = try cipher.seal(UnsafeRawBufferPointer(start: nil, count: 0), nonce: nonce, authenticating: [])
        #expect(sealed.count == XAES256GCM.tagLength)
        #expect(try cipher.open(sealed, nonce: nonce, authenticating: []).isEmpty)
    }

    @Test func `sealed content with a changed byte or with other associated data does not open`() throws {
        let sealed = try cipher.seal(Array("content".utf8), nonce: nonce, authenticating: place)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x10
            refuses(changed, nonce, place)
        }
        for index in nonce.indices {
            var changed = nonce
            changed[index] ^= 1
            refuses(sealed, changed, place)
        }
        refuses(sealed, nonce, [])
        refuses(sealed, nonce, place + [0])
        refuses(sealed + [0], nonce, place)
    }

    @Test func `truncated sealed content does not open`() throws {
        let sealed = try cipher.seal(Array("content".utf8), nonce: nonce, authenticating: place)
        for length in 0..<sealed.count { refuses(Array(sealed[..<length]), nonce, place) }
        for length in 0..<24 { refuses(sealed, Array(nonce[..<length]), place) }
    }

    @Test func `sealed content does not open with another key`() throws {
        let sealed = try cipher.seal(Array("content".utf8), nonce: nonce, authenticating: place)
        let other = try Self.cipher(repeating: 2)
        #expect(throws: BackendError.self) { try other.open(sealed, nonce: nonce, authenticating: place) }
    }

    @Test(arguments: [0, 16, 31, 33])
    func `a key of another length is refused`(length: Int) {
        #expect(throws: BackendError.self) { try XAES256GCM(key: SymmetricKey(data: [UInt8](repeating: 1, count: length))) }
    }

    @Test(arguments: [0, 12, 23, 25])
    func `a nonce of another length is refused before anything is sealed with it`(length: Int) {
        #expect(throws: BackendError.self) { try cipher.seal([1], nonce: [UInt8](repeating: 1, count: length), authenticating: []) }
    }

    @Test func `printed texts show neither the key nor derived keys`() throws {
        var text = ""
        dump(cipher, to: &text)
        text += "\(cipher)\(String(reflecting: cipher))"
        #expect(text == "- XAES-256-GCM\nXAES-256-GCMXAES-256-GCM")
    }

    private func refuses(_ sealed: [UInt8], _ nonce: [UInt8], _ place: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: BackendError.self, sourceLocation: sourceLocation) {
            try cipher.open(sealed, nonce: nonce, authenticating: place)
        }
        #expect(error?.code == .corrupted, sourceLocation: sourceLocation)
    }
}
