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
    func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
    var text = String(text)
    return text.withUTF8 { digits in
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes = [UInt8](repeating: 0, count: digits.count / 2)
        for place in bytes.indices {
            guard let upper = value(digits[2 * place]), let lower = value(digits[2 * place + 1]) else { return nil }
            bytes[place] = upper << 4 | lower
        }
        return bytes
    }
}
