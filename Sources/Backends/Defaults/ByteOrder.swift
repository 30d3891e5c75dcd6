import Foundation

/// Compares texts by their UTF-8 bytes, and arrays of bytes, at the speed of `memcmp`.
enum ByteOrder {
    /// Returns a number less than, equal to or greater than zero, as `memcmp` does.
    static func compare(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                if let start = left.baseAddress, let other = right.baseAddress {
                    let order = memcmp(start, other, min(left.count, right.count))
                    if order != 0 { return Int(order) }
                }
                return left.count - right.count
            }
        }
    }

    /// Whether two arrays of bytes are equal.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.isEmpty || memcmp(left, right, left.count) == 0
    }
}
