import Foundation

/// The order of texts by their bytes in UTF-8, and the equality of bytes, at the speed of `memcmp`.
enum ByteOrder {
    /// Less than, equal to or greater than zero.
    static func compare(_ left: String, _ right: String) -> Int {
        let fast = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in compare(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right)) }
        }
        if case .some(.some(let result)) = fast { return result }
        return Array(left.utf8).withUnsafeBytes { left in Array(right.utf8).withUnsafeBytes { compare(left, $0) } }
    }

    /// Whether two runs of bytes are the same.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && left.withUnsafeBytes { left in right.withUnsafeBytes { compare(left, $0) == 0 } }
    }

    private static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left, right, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }
}
