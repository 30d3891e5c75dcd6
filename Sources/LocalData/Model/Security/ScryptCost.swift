package import Sealing

/// Sets how expensive it is to guess a passphrase. It contains the parameters of scrypt (RFC 7914).
///
/// An attacker with a passphrase file pays this cost for each guess. The program pays it once in a run. The cost
/// applies to new passphrase files: an existing file keeps the cost that is stored in it.
///
/// ```swift
/// configuration.keySource = .passphrase()
/// configuration.scryptCost = ScryptCost(logN: 18)  // 256 MiB for each guess; the default is 128 MiB
/// ```
public struct ScryptCost: Hashable, Sendable {
    /// The base-2 logarithm of N, the cost in time and memory: 14 to 23.
    public var logN: Int
    /// The block size r: 1 to 16. A derivation needs 128 · N · r bytes of memory.
    public var blockSize: Int
    /// The number of sequential passes p: 1 to 16.
    public var parallelism: Int
    private var isCheapOnPurpose = false

    /// Creates a cost. If the cost is outside of the limits, or needs more than 1 GiB of memory, writing a passphrase
    /// file with it throws `unsupported`. A file whose cost is below the limits is refused when it is read.
    ///
    /// ```swift
    /// let costly = ScryptCost(logN: 20, blockSize: 8, parallelism: 1)  // 1 GiB, the most that is allowed
    /// ```
    public init(logN: Int, blockSize: Int = 8, parallelism: Int = 1) {
        (self.logN, self.blockSize, self.parallelism) = (logN, blockSize, parallelism)
    }

    /// A cost without protection, for tests, with any logarithm from 1. A configuration with such a cost also reads
    /// files with a low cost.
    ///
    /// ```swift
    /// var inTests = StorageConfiguration.inMemory()
    /// inTests.scryptCost = .tooCheapForAnythingButTests(logN: 4)
    /// ```
    public static func tooCheapForAnythingButTests(logN: Int, blockSize: Int = 1, parallelism: Int = 1) -> ScryptCost {
        var cost = ScryptCost(logN: logN, blockSize: blockSize, parallelism: parallelism)
        cost.isCheapOnPurpose = true
        return cost
    }

    /// N = 2^17, r = 8, p = 1: 128 MiB. Source: OWASP, Password Storage Cheat Sheet, the first of its settings for
    /// scrypt.
    public static let recommended = ScryptCost(logN: 17)

    /// The cost for the passphrase file. A number that does not fit its field becomes the maximum, which is refused as
    /// outside of the limits.
    package var cost: PassphraseCost {
        var cost = PassphraseCost(
            logN: UInt8(exactly: logN) ?? .max, blockSize: UInt32(exactly: blockSize) ?? .max,
            parallelism: UInt32(exactly: parallelism) ?? .max)
        cost.isCheapOnPurpose = isCheapOnPurpose
        return cost
    }
}
