/// The sizes that a ciphertext may have. Content is padded to one of them, so that the size reveals little about it.
package enum SizeClass {
    /// The smallest class, in bytes.
    static let least = 128

    /// Returns the size class for a number of bytes.
    ///
    /// The number is rounded up to a multiple of a step. The step is an eighth of the largest power of two up to the
    /// number, but at least 128 bytes. So short content is padded in steps of 128 bytes, and long content grows by at
    /// most an eighth.
    package static func padded(_ count: Int) -> Int {
        precondition(count > 0)
        let step = max(least, 1 << max(0, Int.bitWidth - 1 - count.leadingZeroBitCount - 3))
        return (count + step - 1) / step * step
    }
}
