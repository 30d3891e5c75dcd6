import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Sealing

/// Tests of a key under a passphrase: the bytes of its file, wrong passphrases, damaged files, and limits of the cost.
@Suite(.inTurn, .slow("passphrases are stretched without optimisation")) struct PassphraseSourceTests {
    private let bench: KeySourceBench
    private let path: String
    /// A cost that is low enough for hundreds of derivations.
    private static let cheap = PassphraseCost.tooCheapForAnythingButTests(logN: 4, blockSize: 1, parallelism: 1)
    private static let secret = "correct horse battery staple"

    init() throws {
        bench = try KeySourceBench()
        path = bench.folder.file("vault.passphrase")
    }

    private func source(_ passphrase: String = secret, cost: PassphraseCost = cheap, _ runtime: Runtime = .live) -> PassphraseSource {
        PassphraseSource(path: path, cost: cost, deadline: bench.deadline, runtime: runtime) { passphrase }
    }

    @Test func `a key is read back from a private file, even at the recommended cost`() async throws {
        #expect(try await source().load() == nil)
        #expect(try await bench.key.isSame(as: source(cost: .recommended).create(SourceKeys(only: bench.key)).current))
        #expect(try await bench.key.isSame(as: source().load()?.current))
        #expect(try filePermissions(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["vault.passphrase"])
        #expect(source().pin == "passphrase vault.passphrase")
        #expect(source().protection == .keychain)
    }

    @Test func `the file has the bytes of format 1`() async throws {
        _ = try await source(cost: PassphraseCost.tooCheapForAnythingButTests(logN: 5, blockSize: 3, parallelism: 2)).create(
            SourceKeys(only: bench.key))
        let bytes = try fileBytes(path)
        #expect(bytes.count == 157)
        #expect(Array(bytes[..<13]) == [0x4C, 0x44, 0x50, 1, 5, 0, 0, 0, 3, 0, 0, 0, 2])
        #expect(Array(bytes[149...]) == Array(SHA256.hash(data: bytes[..<149]).prefix(8)))
        #expect(!Data(bytes).base64EncodedString().contains("p6enp6en"))
    }

    /// Made with Python's `hashlib.scrypt` and the AES of `cryptography`: Tests/SealingTests/passphrase-vector.py.
    @Test func `a file from another implementation opens`() async throws {
        try writeFile(#require(bytes(ofHexadecimal: Self.foreignFile)), to: path)
        #expect(try await bench.key.isSame(as: source("Zo\u{eb} 7").load()?.current))
        // Typing the passphrase with a combining accent makes no difference.
        #expect(try await bench.key.isSame(as: source("Zoe\u{308} 7").load()?.current))
    }

    @Test(arguments: ["correct horse battery stapl", "correct horse battery staple ", "x"])
    func `a wrong passphrase is reported as a key mismatch and leaves the file unchanged`(other: String) async throws {
        _ = try await source().create(SourceKeys(only: bench.key))
        let before = try fileBytes(path)
        #expect(await code { () throws(BackendError) in try await source(other).load() } == .encryptionKeyMismatch)
        #expect(
            await code { () throws(BackendError) in try await source(other).create(SourceKeys(only: bench.otherKey)) }
                == .encryptionKeyMismatch)
        #expect(try fileBytes(path) == before)
    }

    /// AES-GCM does not commit to its key: one sealed text can open with two keys. Only the commitment, bytes 45 to 76,
    /// binds a file to one passphrase.
    @Test func `a file that its passphrase opens is refused if its commitment is that of another passphrase`() async throws {
        let (salt, nonce) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 24))
        func genuine(_ passphrase: String) throws -> [UInt8] {
            try PassphraseFile.sealing(
                SourceKeys(only: bench.key), with: PassphraseSource.secret(passphrase), Self.cheap, salt: salt, nonce: nonce)
        }
        /// Returns a file that is sealed with the key of the passphrase, and has the commitment of another file.
        func forged(committingAs other: [UInt8]) throws -> [UInt8] {
            let head = Array(other[..<77])
            var authenticated = Fields("LocalData passphrase 1")
            authenticated.add(head)
            let cipher = try PassphraseFile.cipher(PassphraseSource.secret(Self.secret), salt: salt[...], Self.cheap)
            let content = [UInt8](repeating: 0xA7, count: 32)
            let body = try head + nonce + cipher.seal(content, nonce: nonce, authenticating: authenticated.bytes)
            return body + Array(SHA256.hash(data: body).prefix(8))
        }
        // With the right commitment, the forged file is the genuine one.
        let file = try forged(committingAs: genuine(Self.secret))
        #expect(try file == genuine(Self.secret))
        try writeFile(file, to: path)
        #expect(try await bench.key.isSame(as: source().load()?.current))
        let other = try forged(committingAs: genuine("another passphrase"))
        #expect(other[..<45] == file[..<45] && other[45..<77] != file[45..<77])
        try writeFile(other, to: path)
        for passphrase in [Self.secret, "another passphrase"] {
            #expect(await code { () throws(BackendError) in try await source(passphrase).load() } == .encryptionKeyMismatch)
        }
    }

    @Test func `an empty passphrase is refused, and no passphrase is requested if there is no file`() async throws {
        #expect(await code { () throws(BackendError) in try await source("").create(SourceKeys(only: bench.key)) } == .locked)
        #expect(!FileManager.default.fileExists(atPath: path))
        let asked = Mutex(0)
        let counting = PassphraseSource(path: path, cost: Self.cheap, deadline: bench.deadline, runtime: .live) {
            asked.withLock { $0 += 1 }
            return Self.secret
        }
        #expect(try await counting.load() == nil)
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func `an error of the passphrase closure is reported without its text`() async throws {
        struct Refusal: Error { let typed = "hunter2" }
        _ = try await source().create(SourceKeys(only: bench.key))
        let refusing = PassphraseSource(path: path, cost: Self.cheap, deadline: bench.deadline, runtime: .live) { throw Refusal() }
        let error = try await #require(throws: BackendError.self) { try await refusing.load() }
        #expect(error.code == .locked)
        #expect(!error.reason.contains("hunter2"))
        let cancelled = PassphraseSource(path: path, cost: Self.cheap, deadline: bench.deadline, runtime: .live) {
            throw CancellationError()
        }
        #expect(await code { () throws(BackendError) in try await cancelled.load() } == .cancelled)
    }

    @Test func `two concurrent creations result in one key`() async throws {
        for _ in 0..<10 {
            try? FileManager.default.removeItem(atPath: path)
            async let one = source().create(SourceKeys(only: bench.key)).current
            async let two = source().create(SourceKeys(only: bench.otherKey)).current
            let (first, second) = try await (one, two)
            #expect(first.isSame(as: second))
            #expect(try await first.isSame(as: source().load()?.current))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["vault.passphrase"])
    }

    @Test func `a file with a flipped bit never gives a key, even with a corrected checksum`() async throws {
        _ = try await source().create(SourceKeys(only: bench.key))
        let bytes = try fileBytes(path)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            try writeFile(changed, to: path)
            let damage = await code { () throws(BackendError) in try await source().load() }
            #expect(damage == (index == 3 ? .unsupported : .corrupted), "byte \(index)")
            guard (4..<149).contains(index) else { continue }
            try writeFile(changed[..<149] + Array(SHA256.hash(data: changed[..<149]))[..<8], to: path)
            let forgery = await code { () throws(BackendError) in try await source().load() }
            // A flipped bit in the parameters can exceed the limits of the cost.
            #expect(forgery == .encryptionKeyMismatch || index < 13 && forgery == .corrupted, "byte \(index)")
        }
        for length in bytes.indices {
            try writeFile(bytes[..<length], to: path)
            #expect(await code { () throws(BackendError) in try await source().load() } == .corrupted, "length \(length)")
        }
        try writeFile([UInt8](repeating: 0x4C, count: 70_000), to: path)
        #expect(await code { () throws(BackendError) in try await source().load() } == .corrupted)
    }

    @Test(arguments: [
        (0, 8, 1), (24, 1, 1), (21, 8, 1), (63, 1, 1), (255, 8, 1), (17, 0, 1), (17, 17, 1), (17, 8, 0), (17, 8, 17), (16, 1, 1),
        (4, .max, .max),
    ])
    func `a file whose cost needs more memory or time than the limits is neither written nor read`(
        cost: (UInt8, UInt32, UInt32)
    ) async throws {
        let cost = PassphraseCost(logN: cost.0, blockSize: cost.1, parallelism: cost.2)
        #expect(await code { () throws(BackendError) in try await source(cost: cost).create(SourceKeys(only: bench.key)) } == .unsupported)
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await source().create(SourceKeys(only: bench.key))
        var bytes = try fileBytes(path)
        bytes[4] = cost.logN
        withUnsafeBytes(of: cost.blockSize.bigEndian) { bytes.replaceSubrange(5..<9, with: $0) }
        withUnsafeBytes(of: cost.parallelism.bigEndian) { bytes.replaceSubrange(9..<13, with: $0) }
        bytes.replaceSubrange(149..., with: Array(SHA256.hash(data: bytes[..<149]).prefix(8)))
        try writeFile(bytes, to: path)
        #expect(await code { () throws(BackendError) in try await source().load() } == .corrupted)
    }

    @Test(arguments: [(1, 1, 1), (15, 1, 1), (6, 16, 1), (3, 16, 16), (1, 1, 16)])
    func `every cost within the limits can be derived`(cost: (UInt8, UInt32, UInt32)) async throws {
        _ = try await source(cost: .tooCheapForAnythingButTests(logN: cost.0, blockSize: cost.1, parallelism: cost.2)).create(
            SourceKeys(only: bench.key))
        #expect(try await bench.key.isSame(as: source().load()?.current))
    }

    @Test func `a cost that makes guessing cheap is neither written nor read, unless the program declares that it is a test`() async throws
    {
        func source(_ logN: UInt8) -> PassphraseSource { self.source(cost: PassphraseCost(logN: logN, blockSize: 1, parallelism: 1)) }
        #expect(await code { () throws(BackendError) in try await source(13).create(SourceKeys(only: bench.key)) } == .unsupported)
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await self.source().create(SourceKeys(only: bench.key))
        #expect(await code { () throws(BackendError) in try await source(14).load() } == .corrupted)
        try FileManager.default.removeItem(atPath: path)
        _ = try await source(14).create(SourceKeys(only: bench.key))
        #expect(try await bench.key.isSame(as: source(17).load()?.current))
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o622])
    func `a file that other users can access is refused`(permissions: Int) async throws {
        _ = try await source().create(SourceKeys(only: bench.key))
        try setPermissions(permissions, of: path)
        #expect(await code { () throws(BackendError) in try await source().load() } == .accessDenied)
    }

    @Test func `no printed text shows the key or the passphrase`() async throws {
        let source = source()
        _ = try await source.create(SourceKeys(only: bench.key))
        let error = try await #require(throws: BackendError.self) { try await self.source("wrong horse").load() }
        var text = "\(source)\(String(reflecting: source))\(source.identifier)\(source.pin)\(error)"
        dump(source, to: &text)
        dump(error, to: &text)
        dump(bench.key, to: &text)
        for secret in [Self.secret, "wrong horse", "p6enp6en", "a7a7a7a7"] { #expect(!text.contains(secret)) }
        #expect(text.contains(path))
    }

    private static let foreignFile =
        "4c4450010a0000000800000002000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f76675e3e17a3061866a2a638ddde01"
        + "c2004daff2537da6eaff5e15c24a452deb6465666768696a6b6c6d6e6f707172737475767778797a7bac7604429babcdab2edeabe8ec73baa2489962"
        + "5cbbde2b2f33eb75c82887c20e2275495a8655ee96ab4c551030363efe1b62be51058fb85c"
}
