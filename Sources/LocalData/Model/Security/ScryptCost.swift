package import Sealing

/// The cost of trying a passphrase: the parameters of scrypt (RFC 7914). Whoever has a passphrase file pays it for each guess, and the program once in a run.
public struct ScryptCost: Hashable, Sendable {
    /// The base-2 logarithm of N, the cost in time and memory: 14 to 23.
    public var logN: Int
    /// The size of a block, r: 1 to 16. A derivation needs 128 · N · r bytes of memory.
    public var blockSize: Int
    /// The number of passes, p: 1 to 16, one after the other.
    public var parallelism: Int
    private var isCheapOnPurpose = false

    /// Creates a cost. A cost outside of the limits, or above 1 GiB of memory, throws `unsupported` when a file is written with it. A file with a lower cost is refused when it
    /// is read.
    public init(logN: Int, blockSize: Int = 8, parallelism: Int = 1) {
        (self.logN, self.blockSize, self.parallelism) = (logN, blockSize, parallelism)
    }

    /// A cost that protects nothing, for tests: any logarithm from 1 on. A configuration with such a cost reads cheap files, too.
    public static func tooCheapForAnythingButTests(logN: Int, blockSize: Int = 1, parallelism: Int = 1) -> ScryptCost {
        var cost = ScryptCost(logN: logN, blockSize: blockSize, parallelism: parallelism)
        cost.isCheapOnPurpose = true
        return cost
    }

    /// N = 2^17, r = 8, p = 1: 128 MiB. Source: OWASP, Password Storage Cheat Sheet, the first of its settings for scrypt.
    public static let recommended = ScryptCost(logN: 17)

    /// What the passphrase file is written with. A number that it has no room for becomes one that is refused.
    package var cost: PassphraseCost {
        var cost = PassphraseCost(
            logN: UInt8(exactly: logN) ?? .max, blockSize: UInt32(exactly: blockSize) ?? .max,
            parallelism: UInt32(exactly: parallelism) ?? .max)
        cost.isCheapOnPurpose = isCheapOnPurpose
        return cost
    }
}
