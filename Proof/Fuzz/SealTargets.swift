import BackendContract
import Crypto

@testable import Sealing

/// Fuzz targets for sealed (encrypted) values, keys as text, and passphrase files.
extension FuzzTarget {
    static let seals: [FuzzTarget] = [
        FuzzTarget(name: "envelopes", seeds: { SealSeeds.envelopes }) { (bytes) throws(BrokenPromise) in
            try checkEnvelope(bytes)
            // Seal the input. The sealed value must open only unchanged, and only with the same context. The context,
            // such as the store and the name of the value, is authenticated with the value.
            guard let sealed = try? Envelope.seal(bytes, with: SealSeeds.key, for: SealSeeds.context, SealSeeds.bytes) else {
                throw BrokenPromise(description: "a content is not sealed")
            }
            try promise(sealed.count == bytes.count + Envelope.overhead, "a sealed value has another length")
            try promise((try? Envelope.open(sealed, with: SealSeeds.key, for: SealSeeds.context)) == bytes, "a content does not come back")
            let elsewhere = Envelope.Context(.value, in: SealSeeds.store)
            try promise((try? Envelope.open(sealed, with: SealSeeds.key, for: elsewhere)) == nil, "a content opens in another place")
            var changed = sealed
            changed[Int(bytes.reduce(5 as UInt32) { $0 &* 33 &+ UInt32($1) }) % sealed.count] ^= 1
            try checkEnvelope(changed)
        },
        FuzzTarget(name: "key-texts", seeds: { SealSeeds.keyTexts }) { (bytes) throws(BrokenPromise) in
            let text = try steady(bytes) { (try? SealingKey(textBytes: $0[...]))?.text }
            switch Result(catching: { () throws(BackendError) in try SealingKey(textBytes: bytes[...]) }) {
            case .success(let key):
                try promise(key.id.count == SealingKey.idLength && key.key.bitCount == 256, "a key has another length")
                // People may type a key with blanks around its three parts, and with capitals in its id. Any other
                // difference makes another key.
                let parts = bytes.split { " \t\r\n".utf8.contains($0) }.map { String(decoding: $0, as: UTF8.self) }
                try promise(parts.count == 3 && "\(parts[0]) \(parts[1].lowercased()) \(parts[2])" == text, "two texts are one key")
            case .failure(let error):
                try promise(error.code == .encryptionKeyMismatch, "a text that is no key is called \(error.code)")
            }
        },
        FuzzTarget(name: "passphrase-files", seeds: { SealSeeds.passphraseFiles }) { (bytes) throws(BrokenPromise) in
            try checkPassphraseFile(bytes)
            // Replace the end of the input by a correct checksum, and check the result.
            let body = Array(bytes.prefix(PassphraseFile.length - 8))
            try checkPassphraseFile(body + SHA256.hash(data: body).prefix(8))
        },
    ]

    private static func checkEnvelope(_ sealed: [UInt8]) throws(BrokenPromise) {
        let id = Envelope.keyID(of: sealed)
        switch Result(catching: { () throws(BackendError) in try Envelope.open(sealed, with: SealSeeds.key, for: SealSeeds.context) }) {
        case .success: try promise(SealSeeds.envelopes.contains(sealed), "something opens that was never sealed")
        case .failure(let error):
            let isOther = id != nil && id != SealSeeds.key.id
            try promise(error.code == (isOther ? .encryptionKeyMismatch : .corrupted), "what does not open is called \(error.code)")
        }
    }

    private static func checkPassphraseFile(_ bytes: [UInt8]) throws(BrokenPromise) {
        let file: PassphraseFile
        switch Result(catching: { () throws(BackendError) in try PassphraseFile(bytes, of: "file", allowsCheap: true) }) {
        case .success(let read): file = read
        case .failure(let error):
            let isLater = bytes.starts(with: "LDP".utf8) && bytes.count > 3 && bytes[3] != 1
            try promise(error.code == (isLater ? .unsupported : .corrupted), "a file that is refused is called \(error.code)")
            return
        }
        let keys = (bytes.count - PassphraseFile.length) / SealingKey.keyLength + 1
        try promise(
            (1...SourceKeys.limit).contains(keys) && (bytes.count - PassphraseFile.length).isMultiple(of: SealingKey.keyLength),
            "a file of another length is read")
        func number(_ start: Int) -> UInt64 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt64($1) } }
        let (logN, blockSize, parallelism) = (UInt64(bytes[4]), number(5), number(9))
        try promise(128 * blockSize << logN <= 1 << 30 && parallelism <= 16 && logN < 24, "a file may ask for too much")
        // The parameters of a file can make it very slow to derive its key. Continue only if they are small.
        guard logN <= 3, blockSize <= 2, parallelism <= 2 else { return }
        let passphrase = SecretBytes(SealSeeds.passphrase)
        switch Result(catching: { () throws(BackendError) in try file.open(with: passphrase, of: "file") }) {
        case .success(let opened):
            let isSealed = SealSeeds.passphraseFiles.contains(bytes) && opened.current.id == SealSeeds.key.id && opened.all.count == keys
            try promise(isSealed, "something opens that was never sealed")
        case .failure(let error):
            try promise(error.code == .encryptionKeyMismatch, "what does not open is called \(error.code)")
        }
    }
}

/// Fixed test keys, and test values that were sealed with them. No real data is sealed with these keys.
enum SealSeeds {
    static let key = SealingKey(key: SymmetricKey(data: Array(0..<32) as [UInt8]))
    static let other = SealingKey(key: SymmetricKey(data: Array(100..<132) as [UInt8]))
    static let store = StoreContext(application: "com.example", kind: "userDefaults", scope: "suite")
    static let context = {
        var context = Envelope.Context(.value, in: store)
        context.add("name")
        context.add(StorageMetadata(serializer: "json", schemaVersion: 1, sealing: "1:0102030405060708"))
        return context
    }()
    static let passphrase = Array("correct horse".utf8)

    /// Returns bytes to use in place of random bytes. They are the same each time, because a fuzz target must be
    /// deterministic.
    static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) } }

    static let envelopes: [[UInt8]] = [[], Array("content".utf8), Array(repeating: 0, count: 100)].flatMap { content in
        [key, other].compactMap { try? Envelope.seal(content, with: $0, for: context, bytes) }
    }

    static let keyTexts: [[UInt8]] = [
        key.text, key.text + "\n", " \(other.text)\r\n", "LocalData-key-1 0102030405060708 AAAA",
        "LocalData-key-1 \(hexadecimalText(of: key.id).uppercased()) \(base64)", "LocalData-key-1 ABCDEF0102030405 \(base64)",
    ].map { Array($0.utf8) }
    private static let base64 = String(key.text.split(separator: " ").last ?? "")

    static let passphraseFiles: [[UInt8]] = [
        PassphraseCost.tooCheapForAnythingButTests(logN: 1, blockSize: 1, parallelism: 1),
        PassphraseCost.tooCheapForAnythingButTests(logN: 3, blockSize: 2, parallelism: 2),
    ].flatMap { cost in
        [SourceKeys(only: key), try? SourceKeys(key, others: [other])].compactMap { keys in
            guard let keys else { return nil }
            return try? PassphraseFile.sealing(keys, with: SecretBytes(passphrase), cost, salt: bytes(32), nonce: bytes(24))
        }
    }
}
