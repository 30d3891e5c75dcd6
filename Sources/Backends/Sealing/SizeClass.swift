/// Sizes that a ciphertext may have: what is stored is padded up to one of them, so that a size tells little.
package enum SizeClass {
    /// The smallest class, in bytes.
    static let least = 128

    /// The class of a number of bytes: the number rounded up to a multiple of 128, or of an eighth of the power of two below it if that is
    /// more. So short contents look alike in steps of 128 bytes, and long ones grow by at most an eighth.
    package static func padded(_ count: Int) -> Int {
        precondition(count > 0)
        let step = max(least, 1 << max(0, Int.bitWidth - 1 - count.leadingZeroBitCount - 3))
        return (count + step - 1) / step * step
    }
}
