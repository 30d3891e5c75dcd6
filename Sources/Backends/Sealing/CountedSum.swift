/// A count of elements, and the sum of their *terms*. The term of an element is a keyed hash of it, 32 bytes.
///
/// Without the key, other elements with the same sum cannot be found. A database keeps one such sum for its rows, and
/// one for the slots of each label. A label is a property that several values share, such as a type.
package struct CountedSum: Hashable, Sendable {
    /// The number of elements.
    package private(set) var count: Int64 = 0
    /// The sum of the terms modulo 2^256, the lowest 64 bits first.
    private var sum: Words = (0, 0, 0, 0)

    private typealias Words = (UInt64, UInt64, UInt64, UInt64)

    /// The number of bytes of an encoded count and sum.
    package static let length = 8 + termLength
    /// The number of bytes of a term.
    static let termLength = 32

    /// Creates the sum of no elements.
    package init() {}

    /// Whether count and sum are zero, as for no elements.
    package var isNone: Bool { self == CountedSum() }

    /// The count in 8 bytes and the sum in 32 bytes, both big-endian.
    package var bytes: [UInt8] {
        [UInt64(bitPattern: count), sum.3, sum.2, sum.1, sum.0].flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    }

    /// Decodes an encoded count and sum. Returns nil if the length of the argument is wrong.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        bytes.withUnsafeBytes {
            count = Int64(bigEndian: $0.loadUnaligned(as: Int64.self))
            sum = Self.words(UnsafeRawBufferPointer(rebasing: $0[8...]))
        }
    }

    /// Adds an element with a term of 32 bytes.
    package mutating func add(_ term: [UInt8]) {
        count &+= 1
        add(term.withUnsafeBytes(Self.words))
    }

    /// Removes an element, given its term.
    package mutating func remove(_ term: [UInt8]) {
        count &-= 1
        add(term.withUnsafeBytes(Self.words), isNegative: true)
    }

    /// Adds all elements of another sum.
    package mutating func add(_ other: CountedSum) {
        count &+= other.count
        add(other.sum)
    }

    /// Adds a number, or subtracts it. Modulo 2^256, a subtraction adds the complement and one.
    private mutating func add(_ words: Words, isNegative: Bool = false) {
        let mask: UInt64 = isNegative ? .max : 0
        var carry = isNegative
        (sum.0, carry) = Self.added(sum.0, words.0 ^ mask, carry)
        (sum.1, carry) = Self.added(sum.1, words.1 ^ mask, carry)
        (sum.2, carry) = Self.added(sum.2, words.2 ^ mask, carry)
        (sum.3, carry) = Self.added(sum.3, words.3 ^ mask, carry)
    }

    private static func added(_ first: UInt64, _ second: UInt64, _ carry: Bool) -> (UInt64, Bool) {
        let (sum, overflowed) = first.addingReportingOverflow(second)
        let (whole, overflowedAgain) = sum.addingReportingOverflow(carry ? 1 : 0)
        return (whole, overflowed || overflowedAgain)
    }

    private static func words(_ bytes: UnsafeRawBufferPointer) -> Words {
        precondition(bytes.count == termLength, "A term has 32 bytes.")
        func word(_ offset: Int) -> UInt64 { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
        return (word(24), word(16), word(8), word(0))
    }

    /// Returns whether count and sum are equal.
    package static func == (one: CountedSum, other: CountedSum) -> Bool { one.count == other.count && one.sum == other.sum }

    /// Hashes the count and the sum.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for word in [sum.0, sum.1, sum.2, sum.3] { hasher.combine(word) }
    }
}
