/// Encodes bytes as lower-case hexadecimal digits, two for each byte.
package func hexadecimalText(of bytes: some Sequence<UInt8>) -> String { hexadecimalText(of: Array(bytes)) }

/// Encodes bytes as lower-case hexadecimal digits, two for each byte.
package func hexadecimalText(of bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
        for (index, byte) in bytes.enumerated() {
            text[2 * index] = hexadecimalDigit(byte >> 4)
            text[2 * index + 1] = hexadecimalDigit(byte & 15)
        }
        return 2 * bytes.count
    }
}

private func hexadecimalDigit(_ value: UInt8) -> UInt8 { value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }

/// Decodes hexadecimal digits of either case.
/// - Returns: nil if the text contains another character or has an odd number of digits.
package func bytes(ofHexadecimal text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var upper: UInt8?
    for digit in text.utf8 {
        let value: UInt8
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
        default: return nil
        }
        if let first = upper {
            bytes.append(first << 4 | value)
            upper = nil
        } else {
            upper = value
        }
    }
    return upper == nil ? bytes : nil
}
