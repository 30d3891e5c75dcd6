internal import BackendContract
internal import BackendRuntime
internal import Crypto
internal import CryptoExtras

/// The cost of one guess of a passphrase: the parameters of scrypt (RFC 7914).
package struct PassphraseCost: Hashable, Sendable {
    /// The base-2 logarithm of N, which determines time and memory.
    package var logN: UInt8
    /// The size of a block, r. The memory is 128 · N · r bytes.
    package var blockSize: UInt32
    /// The number of passes, p. They run one after the other.
    package var parallelism: UInt32
    /// Whether the cost may be below ``floor``.
    package var isCheapOnPurpose = false

    /// The least base-2 logarithm of N for a passphrase file, unless ``isCheapOnPurpose`` is set.
    package static let floor: UInt8 = 14

    /// Creates a cost. The limits are: 128 · N · r at most 1 GiB, r and p at most 16. A cost outside of the limits is
    /// accepted here, but a file with it is neither written nor opened.
    package init(logN: UInt8, blockSize: UInt32, parallelism: UInt32) {
        (self.logN, self.blockSize, self.parallelism) = (logN, blockSize, parallelism)
    }

    /// Returns a cost that may be too low to protect a passphrase, for tests.
    package static func tooCheapForAnythingButTests(logN: UInt8, blockSize: UInt32 = 1, parallelism: UInt32 = 1) -> PassphraseCost {
        var cost = PassphraseCost(logN: logN, blockSize: blockSize, parallelism: parallelism)
        cost.isCheapOnPurpose = true
        return cost
    }

    /// Returns this cost. If this cost or `other` may be below ``floor``, the result may be too.
    func allowed(by other: PassphraseCost) -> PassphraseCost {
        var cost = self
        cost.isCheapOnPurpose = isCheapOnPurpose || other.isCheapOnPurpose
        return cost
    }

    /// N = 2^17, r = 8, p = 1: 128 MiB. Source: OWASP, Password Storage Cheat Sheet, the first of its settings for scrypt.
    package static let recommended = PassphraseCost(logN: 17, blockSize: 8, parallelism: 1)

    /// Whether the cost is within the limits: at most 1 GiB of memory, r at most 16 and p at most 16. Beyond r = 16,
    /// swift-crypto's memory limit is too low for a single pass. RFC 7914 requires N below 2^(16 r).
    var isWithinLimits: Bool {
        (1...23).contains(logN) && (1...16).contains(blockSize) && (1...16).contains(parallelism) && UInt32(logN) < 16 * blockSize
            && 128 * UInt64(blockSize) << UInt64(logN) <= 1 << 30
    }

    /// Whether a sealed file may have this cost. Its header is read before anything proves who made it, so an attacker chooses the cost.
    /// The limit is twice ``recommended``: half a second and 256 MiB.
    var isFitForFiles: Bool { isWithinLimits && UInt64(parallelism) * UInt64(blockSize) << UInt64(logN) <= 1 << 21 }
}

/// The bytes of a passphrase file, format 1. It holds sealing keys, sealed with a key that scrypt (RFC 7914) derives
/// from a passphrase.
///
/// ```
/// 4C 44 50 01        "LDP", format 1
/// log2 N             1 byte
/// r                  4 bytes, big-endian
/// p                  4 bytes, big-endian
/// salt               32 random bytes
/// commitment         32 bytes, computed from the derived key
/// nonce              24 random bytes
/// ciphertext         32 bytes for each key: first the one that seals, then those that only open
/// tag                16 bytes
/// checksum           the first 8 bytes of SHA-256 over everything before it
/// ```
///
/// A file with one key has 157 bytes. The cipher is ``XAES256GCM``. The associated data is ``Fields`` for
/// `LocalData passphrase 1` with the first 77 bytes, so that format, parameters and salt cannot be changed.
///
/// The commitment is ``KeyIdentity/commitment`` of the derived key. Without it, an attacker could make one file that
/// opens with many passphrases. One attempt to open this file with the user's passphrase would then show whether that
/// is one of the many. The ids of the keys are not stored, because they can be computed from the keys. The checksum
/// distinguishes damage from a wrong passphrase without a derivation. It does not protect against an attacker.
struct PassphraseFile: Sendable {
    /// The number of bytes of a file with one key.
    static let length = 157
    /// Returns the number of bytes of a file with this number of keys.
    private static func length(_ keys: Int) -> Int { length + (keys - 1) * SealingKey.keyLength }
    private static let saltEnd = 45
    private static let headLength = saltEnd + KeyIdentity.commitmentLength
    private static let sealedStart = headLength + XAES256GCM.nonceLength

    /// The bytes of the whole file.
    let bytes: [UInt8]
    let cost: PassphraseCost

    /// Parses a file. Does not derive a key.
    /// - Parameter allowsCheap: Whether the file may cost less than ``PassphraseCost/floor``.
    /// - Throws: ``BackendError``: `unsupported` for another format; `corrupted` for damage and for a cost outside of
    ///   the limits.
    init(_ bytes: [UInt8], of path: String, allowsCheap: Bool = false) throws(BackendError) {
        guard bytes.starts(with: Array("LDP".utf8)), bytes.count > 3 else {
            throw BackendError(.corrupted, "\(path) is not a passphrase file of this library. Restore the right file; nothing was changed.")
        }
        guard bytes[3] == 1 else {
            throw BackendError(
                .unsupported,
                "\(path) has format \(bytes[3]), which this version does not know. Use the version that made it; nothing was changed.")
        }
        guard (1...SourceKeys.limit).contains(where: { Self.length($0) == bytes.count }),
            SHA256.hash(data: bytes.dropLast(8)).prefix(8).elementsEqual(bytes.suffix(8))
        else {
            throw BackendError(.corrupted, "The passphrase file \(path) is damaged. Restore it from a backup; nothing was changed.")
        }
        func number(at start: Int) -> UInt32 { bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        cost = PassphraseCost(logN: bytes[4], blockSize: number(at: 5), parallelism: number(at: 9))
        guard cost.isWithinLimits else {
            throw BackendError(
                .corrupted,
                "The passphrase file \(path) asks for more than 1 GiB of memory or 16 passes, which this library never wrote. Restore the right file."
            )
        }
        guard allowsCheap || cost.logN >= PassphraseCost.floor else {
            throw BackendError(
                .corrupted,
                "The passphrase file \(path) makes guessing cheaper than this library allows (N below 2^\(PassphraseCost.floor)). Restore the right file."
            )
        }
        self.bytes = bytes
    }

    /// Opens the keys in the file. The call takes as much time and memory as the cost says.
    /// - Throws: ``BackendError`` with `encryptionKeyMismatch` for another passphrase.
    func open(with passphrase: SecretBytes, of path: String) throws(BackendError) -> SourceKeys {
        let derived = try Self.derive(passphrase, salt: bytes[13..<Self.saltEnd], cost)
        let mismatch = BackendError(
            .encryptionKeyMismatch, "The passphrase is not the one of \(path). Try again with the right one; nothing was changed.")
        guard KeyIdentity(of: derived).commitment == Array(bytes[Self.saltEnd..<Self.headLength]) else { throw mismatch }
        let cipher = try XAES256GCM(key: derived)
        var content: [UInt8]
        do throws(BackendError) {
            content = try cipher.open(
                Array(bytes[Self.sealedStart...].dropLast(8)), nonce: Array(bytes[Self.headLength..<Self.sealedStart]),
                authenticating: Self.associatedData(bytes[..<Self.headLength]))
        } catch { throw mismatch }
        defer { wipe(&content) }
        let keys = content.withUnsafeBytes { content in
            stride(from: 0, to: content.count, by: SealingKey.keyLength).map { start in
                SealingKey(key: SymmetricKey(data: content[start..<start + SealingKey.keyLength]))
            }
        }
        return try SourceKeys(keys[0], others: Array(keys.dropFirst()))
    }

    /// Returns the content of a file with these keys. The call takes as much time and memory as the cost says.
    static func sealing(
        _ keys: SourceKeys, with passphrase: SecretBytes, _ cost: PassphraseCost, salt: [UInt8], nonce: [UInt8]
    ) throws(BackendError) -> [UInt8] {
        guard cost.isWithinLimits else {
            throw BackendError(.unsupported, "A passphrase file may cost at most 1 GiB of memory (128 · N · r), with r and p at most 16.")
        }
        guard cost.isCheapOnPurpose || cost.logN >= PassphraseCost.floor else {
            throw BackendError(
                .unsupported,
                "A passphrase file costs at least N = 2^\(PassphraseCost.floor): below that, guessing is too cheap. Nothing was written.")
        }
        guard keys.all.allSatisfy({ $0.key.bitCount == SealingKey.keyLength * 8 }) else {
            throw BackendError(.failed, "A sealing key has 32 bytes; this one has not. Nothing was written.")
        }
        var bytes = Array("LDP".utf8) + [1, cost.logN]
        for number in [cost.blockSize, cost.parallelism] { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }
        bytes += salt
        var content: [UInt8] = []
        content.reserveCapacity(keys.all.count * SealingKey.keyLength)
        for key in keys.all { key.withBytes { content.append(contentsOf: $0) } }
        defer { wipe(&content) }
        let derived = try derive(passphrase, salt: salt[...], cost)
        bytes += KeyIdentity(of: derived).commitment
        let sealed = try XAES256GCM(key: derived).seal(content, nonce: nonce, authenticating: associatedData(bytes[...]))
        bytes += nonce + sealed
        return bytes + SHA256.hash(data: bytes).prefix(8)
    }

    private static func associatedData(_ head: ArraySlice<UInt8>) -> [UInt8] { Fields("LocalData passphrase 1", Array(head)).bytes }

    static func cipher(
        _ passphrase: SecretBytes, salt: ArraySlice<UInt8>, _ cost: PassphraseCost
    ) throws(BackendError) -> XAES256GCM {
        try XAES256GCM(key: derive(passphrase, salt: salt, cost))
    }

    private static func derive(
        _ passphrase: SecretBytes, salt: ArraySlice<UInt8>, _ cost: PassphraseCost
    ) throws(BackendError) -> SymmetricKey {
        do {
            return try passphrase.withBytes {
                try KDF.Scrypt.deriveKey(
                    from: $0, salt: Array(salt), outputByteCount: XAES256GCM.keyLength, rounds: 1 << Int(cost.logN),
                    blockSize: Int(cost.blockSize), parallelism: Int(cost.parallelism))
            }
        } catch {
            throw BackendError(.failed, "No key could be derived from the passphrase; there may not be enough memory. Nothing was changed.")
        }
    }
}
