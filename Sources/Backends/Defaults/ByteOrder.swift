import Foundation

/// Compares texts by their UTF-8 bytes, and compares and searches arrays of bytes, at the speed of `memcmp` and `memchr`.
enum ByteOrder {
    /// Returns a number less than, equal to or greater than zero, as `memcmp` does.
    static func compare(_ left: String, _ right: String) -> Int {
        left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                if let start = left.baseAddress, let other = right.baseAddress {
                    let order = memcmp(start, other, min(left.count, right.count))
                    if order != 0 { return Int(order) }
                }
                return left.count - right.count
            }
        }.flatMap(\.self) ?? (left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : left.utf8.elementsEqual(right.utf8) ? 0 : 1)
    }

    /// Whether two arrays of bytes are equal.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.isEmpty || memcmp(left, right, left.count) == 0
    }

    /// Returns the first place of a character of ASCII; nil if the bytes do not have it.
    static func place(of character: Unicode.Scalar, in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { all in
            guard let start = all.baseAddress, let found = memchr(start, Int32(character.value), all.count) else { return nil }
            return bytes.startIndex + (UnsafeRawPointer(found) - start)
        }
    }
}
