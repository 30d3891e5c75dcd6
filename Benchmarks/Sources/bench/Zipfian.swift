import Foundation

/// Random numbers that depend only on their seed: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Draws ranks from a Zipf distribution. Rank 0 is the most frequent one; rank n is drawn 1 / (n + 1)^theta times as often.
///
/// The formula is that of Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly Generating Billion-Record Synthetic
/// Databases", SIGMOD 1994. The benchmark YCSB uses it, too.
struct Zipfian: Sendable {
    private let count: Double
    private let alpha: Double
    private let eta: Double
    /// The sum of the weights of all ranks.
    private let total: Double
    /// The sum of the weights of the first two ranks.
    private let firstTwo: Double

    /// - Parameters:
    ///   - count: The number of ranks.
    ///   - theta: The skew, between 0 and 1.
    init(count: Double, theta: Double) {
        self.count = count
        alpha = 1 / (1 - theta)
        total = Self.sum(of: count, theta)
        firstTwo = 1 + pow(0.5, theta)
        eta = (1 - pow(2 / count, 1 - theta)) / (1 - firstTwo / total)
    }

    /// Draws a rank.
    func rank(_ dice: inout some RandomNumberGenerator) -> UInt64 {
        let part = Double.random(in: 0..<1, using: &dice)
        if part * total < 1 { return 0 }
        if part * total < firstTwo { return 1 }
        return UInt64(count * pow(eta * part - eta + 1, alpha))
    }

    /// Returns the sum of 1 / i^theta for i from 1 to the count. It adds the first terms one by one, and the others with the
    /// Euler-Maclaurin formula. For 10 billion and 0.99 the sum is 26.469028.
    static func sum(of count: Double, _ theta: Double) -> Double {
        let first = min(count, 10_000)
        let head = (1...Int(first)).reduce(0.0) { $0 + pow(Double($1), -theta) }
        guard count > first else { return head }
        func rise(_ function: (Double) -> Double) -> Double { function(count) - function(first) }
        let integral = rise { pow($0, 1 - theta) } / (1 - theta)
        let ends = rise { pow($0, -theta) } / 2
        let slopes = rise { pow($0, -theta - 1) } * theta / 12
        return head + integral + ends - slopes
    }
}

/// Draws numbers of records. Few records are popular, and they are spread over all numbers.
///
/// As in YCSB's scrambled variant, a rank is drawn from 10 billion ranks with a theta of 0.99. Its FNV-1a hash of 64 bits,
/// modulo the number of records, is the number of a record.
struct ScrambledZipfian: Sendable {
    let records: Int

    private static let ranks = Zipfian(count: 1e10, theta: 0.99)

    /// Draws the number of a record.
    func record(_ dice: inout some RandomNumberGenerator) -> Int {
        Int(Self.hash(Self.ranks.rank(&dice)) % UInt64(records))
    }

    /// Returns the FNV-1a hash of the eight bytes of a number, with the lowest byte first. YCSB takes the hash as a signed
    /// number, without its sign.
    private static func hash(_ number: UInt64) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in 0..<8 {
            hash ^= (number >> UInt64(8 * byte)) & 0xFF
            hash &*= 0x100_0000_01B3
        }
        return Int64(bitPattern: hash).magnitude
    }
}
