/// Base64 as in RFC 4648 section 4, with padding and without line breaks. Decoding accepts no other variant.
///
/// The implementation is made for secrets. Unlike Foundation's, it leaves no copy of its input in memory, and its branches and memory
/// accesses do not depend on the content.
package enum Base64 {
    /// Returns the length of the encoded text for a number of bytes.
    package static func encodedLength(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Encodes bytes into a buffer.
    /// - Parameter text: The buffer, with the length that ``encodedLength(of:)`` returns.
    package static func encode(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableBufferPointer<UInt8>) {
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = (0..<3).reduce(0 as UInt32) { $0 << 8 | (start + $1 < bytes.count ? UInt32(bytes[start + $1]) : 0) }
            for place in 0..<4 {
                let digit = Int32(group >> (18 - 6 * UInt32(place)) & 63)
                text[start / 3 * 4 + place] = start + place <= bytes.count ? character(digit) : UInt8(ascii: "=")
            }
        }
    }

    /// Decodes a text into a buffer whose size is exactly the decoded length.
    /// - Returns: False if the text is invalid, if it does not have exactly the length for the buffer, or if an unused bit of its last
    ///   character is not zero.
    package static func decode(_ text: ArraySlice<UInt8>, into bytes: UnsafeMutableRawBufferPointer) -> Bool {
        guard text.count == encodedLength(of: bytes.count) else { return false }
        let padding = (3 - bytes.count % 3) % 3
        guard text.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") }) else { return false }
        var wrong: Int32 = 0
        var (group, bits, filled) = (0 as UInt32, 0 as UInt32, 0)
        for letter in text.dropLast(padding) {
            let digit = value(Int32(letter))
            wrong |= digit >> 8
            (group, bits) = (group << 6 | UInt32(digit & 63), bits + 6)
            if bits >= 8 {
                bits -= 8
                bytes[filled] = UInt8(truncatingIfNeeded: group >> bits)
                filled += 1
            }
        }
        return wrong == 0 && group & (1 << bits - 1) == 0
    }

    /// Encodes bytes.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let length = encodedLength(of: bytes.count)
        return Array(unsafeUninitializedCapacity: length) { text, filled in
            text.initialize(repeating: 0)
            bytes.withUnsafeBytes { encode($0, into: UnsafeMutableBufferPointer(rebasing: text[..<length])) }
            filled = length
        }
    }

    /// Decodes a text; returns nil unless the text is an exact output of ``encode(_:)``.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 - padding)
        return bytes.withUnsafeMutableBytes { decode(text, into: $0) } ? bytes : nil
    }

    /// Returns a number with all bits set if `number` is in the range, otherwise zero.
    private static func mask(_ number: Int32, _ from: Int32, _ to: Int32) -> Int32 { ~((number - from) | (to - number)) >> 31 }

    private static func character(_ digit: Int32) -> UInt8 {
        let upper = mask(digit, 0, 25) & (65 + digit)
        let lower = mask(digit, 26, 51) & (97 + digit - 26)
        let number = mask(digit, 52, 61) & (48 + digit - 52)
        let sign = mask(digit, 62, 62) & 43 | mask(digit, 63, 63) & 47
        return UInt8(upper | lower | number | sign)
    }

    /// Returns the value of a Base64 character; negative if the character is invalid.
    private static func value(_ letter: Int32) -> Int32 {
        let upper = mask(letter, 65, 90) & (letter - 65 + 1)
        let lower = mask(letter, 97, 122) & (letter - 97 + 26 + 1)
        let number = mask(letter, 48, 57) & (letter - 48 + 52 + 1)
        let sign = mask(letter, 43, 43) & (62 + 1) | mask(letter, 47, 47) & (63 + 1)
        return (upper | lower | number | sign) - 1
    }
}
