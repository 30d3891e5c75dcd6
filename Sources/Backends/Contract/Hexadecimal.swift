/// Writes bytes as lower-case hexadecimal digits, two for each byte.
package func hexadecimalText(of bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

/// Reads bytes from hexadecimal digits of either case.
/// - Returns: nil if the text has another character than a digit, or an odd number of digits.
package func bytes(ofHexadecimal text: some StringProtocol) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    // `hexDigitValue` also knows full-width digits, which take more than one byte of UTF-8.
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
