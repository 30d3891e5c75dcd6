import BackendContract
import BackendRuntime
import Crypto
import TestSupport
import Testing

@testable import Sealing

/// Tests of the format of sealed files, in memory.
struct SealedStreamTests {
    private let cheap = PassphraseCost(logN: 1, blockSize: 1, parallelism: 1)
    private let random = Runtime.live.randomBytes

    private func make(_ content: [UInt8], _ recovery: RecoveryKeyPair) throws -> [UInt8] {
        let header = try StreamHeader(
            .backup,
            for: [.passphrase(StreamPassphrase("secret"), cheap), .recovery(recovery)], random)
        var stream = SealedStream(header)
        var (bytes, rest) = (header.bytes, content[...])
        while rest.count > SealedStream.chunkLength {
            bytes += try stream.seal(Array(rest.prefix(SealedStream.chunkLength)), isLast: false)
            rest = rest.dropFirst(SealedStream.chunkLength)
        }
        return bytes + (try stream.seal(Array(rest), isLast: true))
    }

    private func open(_ bytes: [UInt8], _ opener: StreamOpener, _ purpose: StreamHeader.Purpose = .backup) throws -> [UInt8] {
        let header = try StreamHeader(Array(bytes.prefix(StreamHeader.maximumLength)), opening: opener, for: purpose)
        var stream = SealedStream(header)
        var (content, rest): ([UInt8], _) = ([], bytes.dropFirst(header.bytes.count))
        while true {
            let sealed = Array(rest.prefix(SealedStream.sealedLength))
            rest = rest.dropFirst(SealedStream.sealedLength)
            content += try stream.open(sealed, isLast: rest.isEmpty)
            if rest.isEmpty { return content }
        }
    }

    @Test func `sealed content opens with the passphrase and with the recovery key, at lengths around the size of a chunk`() throws {
        let recovery = RecoveryKeyPair(random)
        for length in [
            0, 1, SealedStream.chunkLength - 1, SealedStream.chunkLength, SealedStream.chunkLength + 1, 2 * SealedStream.chunkLength,
        ] {
            let content = random(length)
            let bytes = try make(content, recovery)
            #expect(try open(bytes, .passphrase(StreamPassphrase("secret"))) == content)
            #expect(try open(bytes, .recovery(recovery)) == content)
        }
        let bytes = try make([1, 2, 3], recovery)
        for wrong in [StreamOpener.passphrase(try StreamPassphrase("Secret")), .recovery(RecoveryKeyPair(random))] {
            let error = #expect(throws: BackendError.self) { try open(bytes, wrong) }
            #expect(error?.code == .encryptionKeyMismatch)
        }
        #expect(throws: BackendError.self) { try open(bytes, .recovery(recovery), .export) }
        #expect(throws: BackendError.self) { try StreamPassphrase("") }
    }

    @Test func `a file that was made with only the public half of a recovery key is refused`() throws {
        let (victim, attacker) = (RecoveryKeyPair(random), RecoveryKeyPair(random))
        let genuine = try StreamHeader(.backup, for: [.recovery(victim)], random).bytes.dropLast(32).suffix(32)
        let purpose = "LocalData stream 1 recovery"
        func fields(_ text: String, _ id: [UInt8], _ rest: [UInt8]) -> Fields {
            var fields = Fields(text)
            for part in [[StreamHeader.Purpose.backup.rawValue], id, rest] { fields.add(part) }
            return fields
        }
        let (id, key) = (random(16), SymmetricKey(size: .bits256))
        let recipient = try RecoveryRecipient(publicKey: victim.publicKey)
        let sealed = try recipient.seal(
            key.withUnsafeBytes { Array($0) }, for: purpose, authenticating: fields(purpose, id, recipient.publicKey).bytes)
        let content = recipient.publicKey + sealed
        func header(_ tag: [UInt8]) -> [UInt8] {
            var writer = ByteWriter()
            writer.bytes = StreamHeader.magic + [1, StreamHeader.Purpose.backup.rawValue] + id + [1, 2]
            writer.counted(content + tag)
            let code = HMAC<SHA256>.authenticationCode(for: writer.bytes, using: StreamHeader.subkey("header", key, id))
            return writer.bytes + Array(code)
        }
        let tagged = fields("\(purpose) tag", id, content)
        for tag in [random(32), attacker.tag(of: tagged), Array(genuine), []] {
            let error = #expect(throws: BackendError.self) {
                try StreamHeader(header(tag), opening: .recovery(victim), for: .backup)
            }
            #expect(error?.code == .corrupted)
        }
        // With a tag by the recovery key, the same file is valid.
        #expect(try StreamHeader(header(victim.tag(of: tagged)), opening: .recovery(victim), for: .backup).id == id)
    }

    @Test func `a header without recipients, with too many or with an expensive passphrase is not made`() throws {
        let recipient = StreamRecipient.recovery(RecoveryKeyPair(random))
        let expensive = StreamRecipient.passphrase(try StreamPassphrase("secret"), PassphraseCost(logN: 40, blockSize: 8, parallelism: 1))
        for recipients in [[], [StreamRecipient](repeating: recipient, count: 17), [expensive]] {
            let error = #expect(throws: BackendError.self) { try StreamHeader(.backup, for: recipients, random) }
            #expect(error?.code == .unsupported)
        }
    }

    @Test func `a file whose header asks for an expensive passphrase is refused before the passphrase is tried`() throws {
        let passphrase = try StreamPassphrase("secret")
        var bytes = try StreamHeader(.backup, for: [.passphrase(passphrase, cheap)], random).bytes
        // log2 N (1 byte), r and p (4 bytes each) follow the start of the header and the kind and length of the recipient.
        bytes.replaceSubrange(27..<36, with: [17, 0, 0, 0, 8, 0, 0, 0, 3])
        let error = #expect(throws: BackendError.self) { try StreamHeader(bytes, opening: .passphrase(passphrase), for: .backup) }
        #expect(error?.code == .corrupted)
    }

    @Test func `a file names the kind of key that it was sealed for, and the command that reads it`() throws {
        let recovery = RecoveryKeyPair(random)
        func reason(_ recipient: StreamRecipient, _ opener: StreamOpener, as purpose: StreamHeader.Purpose = .export) throws -> String {
            let header = try StreamHeader(.export, for: [recipient], random)
            return try #require(#expect(throws: BackendError.self) { try StreamHeader(header.bytes, opening: opener, for: purpose) }).reason
        }
        let (phrase, key) = (StreamRecipient.passphrase(try StreamPassphrase("secret"), cheap), StreamRecipient.recovery(recovery))
        #expect(try reason(phrase, .recovery(recovery)).contains("Give its passphrase"))
        #expect(try reason(key, .passphrase(StreamPassphrase("secret"))).contains("for a recovery key only"))
        #expect(try reason(key, .recovery(recovery), as: .backup).contains("Use import"))
        #expect("\(try StreamPassphrase("secret"))" == "StreamPassphrase")
        var dumped = ""
        dump(try StreamPassphrase("secret"), to: &dumped)
        #expect(!dumped.contains("secret"))
    }

    @Test func `a passphrase may have its accents composed or decomposed`() throws {
        let header = try StreamHeader(.backup, for: [.passphrase(StreamPassphrase("caf\u{E9}"), cheap)], random)
        #expect(try StreamHeader(header.bytes, opening: .passphrase(StreamPassphrase("cafe\u{301}")), for: .backup).id == header.id)
        let error = #expect(throws: BackendError.self) {
            try StreamHeader(header.bytes, opening: .passphrase(StreamPassphrase("cafe")), for: .backup)
        }
        #expect(error?.code == .encryptionKeyMismatch)
    }

    @Test func `a header that was opened before opens only the same file for the same purpose`() throws {
        let recovery = RecoveryKeyPair(random)
        let header = try StreamHeader(.backup, for: [.recovery(recovery)], random)
        let other = try StreamHeader(.backup, for: [.recovery(recovery)], random)
        #expect(try StreamHeader(header.bytes + [1, 2], opening: .opened(header), for: .backup).id == header.id)
        #expect(throws: BackendError.self) { try StreamHeader(other.bytes, opening: .opened(header), for: .backup) }
        #expect(throws: BackendError.self) { try StreamHeader(header.bytes, opening: .opened(header), for: .export) }
    }

    @Test func `after the last part, no further part is read`() throws {
        let recovery = RecoveryKeyPair(random)
        let header = try StreamHeader(.backup, for: [.recovery(recovery)], random)
        var stream = SealedStream(header)
        let sealed = try stream.seal([1], isLast: true)
        var reading = SealedStream(header)
        #expect(try reading.open(sealed, isLast: true) == [1])
        #expect(throws: BackendError.self) { try reading.open(sealed, isLast: true) }
    }

    @Test func `a file with a changed bit, a missing end or extra bytes is refused`() throws {
        let recovery = RecoveryKeyPair(random)
        let bytes = try make(Array("a small content".utf8), recovery)
        let openers = [StreamOpener.passphrase(try StreamPassphrase("secret")), .recovery(recovery)]
        for opener in openers {
            for index in bytes.indices {
                for bit in [0, 7] as [UInt8] {
                    var changed = bytes
                    changed[index] ^= 1 << bit
                    #expect(throws: BackendError.self, "byte \(index)") { try open(changed, opener) }
                }
                #expect(throws: BackendError.self, "length \(index)") { try open(Array(bytes[..<index]), opener) }
            }
            #expect(throws: BackendError.self) { try open(bytes + [0], opener) }
            #expect(throws: BackendError.self) { try open(bytes + bytes.suffix(31), opener) }
        }
    }

    @Test func `a passphrase that costs more than the limit is refused before any derivation`() throws {
        let header = try StreamHeader(.backup, for: [.passphrase(StreamPassphrase("secret"), cheap)], random)
        var bytes = header.bytes
        bytes[27] = 40
        let error = #expect(throws: BackendError.self) {
            try StreamHeader(bytes, opening: .passphrase(try StreamPassphrase("secret")), for: .backup)
        }
        #expect(error?.code == .corrupted)
    }
}
