/// How many slots have a label, and the sum of what stands for each of them: nobody without the key can tell which slots would make a sum.
package struct LabelCount: Hashable, Sendable {
    /// The number of slots.
    package private(set) var count: Int64 = 0
    /// The sum of their terms modulo 2^256, its lowest 64 bits first.
    private var sum: [UInt64] = [0, 0, 0, 0]

    /// The number of bytes that a count is sealed from.
    package static let length = 8 + 32

    /// No slots.
    package init() {}

    /// Whether there are no slots.
    package var isNone: Bool { self == LabelCount() }

    /// The count, and the sum in 32 bytes.
    package var bytes: [UInt8] {
        ([UInt64(bitPattern: count)] + sum.reversed()).flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    }

    /// Reads ``bytes``; nil for anything of another length.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        count = Int64(bitPattern: Self.number(bytes[..<8]))
        sum = Self.words(bytes[8...])
    }

    /// Adds a slot's term of 32 bytes.
    package mutating func add(_ term: [UInt8]) {
        count &+= 1
        var carry: UInt64 = 0
        for (index, word) in Self.words(term[...]).enumerated() {
            let (first, overflowed) = sum[index].addingReportingOverflow(word)
            let (second, overflowedAgain) = first.addingReportingOverflow(carry)
            sum[index] = second
            carry = overflowed || overflowedAgain ? 1 : 0
        }
    }

    /// Takes a slot's term away.
    package mutating func remove(_ term: [UInt8]) {
        count &-= 1
        var borrow: UInt64 = 0
        for (index, word) in Self.words(term[...]).enumerated() {
            let (first, overflowed) = sum[index].subtractingReportingOverflow(word)
            let (second, overflowedAgain) = first.subtractingReportingOverflow(borrow)
            sum[index] = second
            borrow = overflowed || overflowedAgain ? 1 : 0
        }
    }

    private static func words(_ bytes: ArraySlice<UInt8>) -> [UInt64] {
        (0..<4).map { number(bytes.dropFirst(24 - 8 * $0).prefix(8)) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
