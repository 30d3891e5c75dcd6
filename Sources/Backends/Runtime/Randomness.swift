/// A source of unpredictable bytes.
package struct Randomness: Sendable {
    /// Fills memory with unpredictable bytes.
    package let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

    /// Creates a source from a closure that fills memory.
    package init(fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) { self.fill = fill }

    /// Creates a source from 64-bit words. The lowest byte of a word is used first. Unused bytes of the last word are
    /// discarded.
    /// - Parameter words: Returns 64 unpredictable bits.
    package init(words: @escaping @Sendable () -> UInt64) {
        self.init { bytes in
            var filled = 0
            while filled < bytes.count {
                withUnsafeBytes(of: words().littleEndian) { word in
                    let part = min(word.count, bytes.count - filled)
                    UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: word[..<part]))
                    filled += part
                }
            }
        }
    }

    /// The system's source, with one system call for each 256 bytes.
    package static let system = Randomness { bytes in
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(systemRandomLimit))
            // An old kernel may not have this system call. The standard library then gets the bytes from another
            // source.
            if !systemFillRandomly(part) { Randomness(words: { UInt64.random(in: .min ... .max) }).fill(part) }
            rest = rest.dropFirst(part.count)
        }
    }

    /// Returns 64 unpredictable bits.
    package func bits() -> UInt64 {
        var bits: UInt64 = 0
        withUnsafeMutableBytes(of: &bits) { fill($0) }
        return UInt64(littleEndian: bits)
    }
}
