/// Base64 as RFC 4648 section 4 defines it, with padding and without line breaks; decoding accepts nothing else.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { table[Int(letter)] = UInt8(value) }
        return table
    }()

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0 as UInt32) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return text
    }

    /// The bytes, or nil when the text is not exactly what ``encode(_:)`` makes of some bytes.
    static func decode(_ text: some RandomAccessCollection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var filled: UInt32 = 0
        for letter in text.dropLast(padding) {
            let value = values[Int(letter)]
            guard value != 0xFF else { return nil }
            bits = bits << 6 | UInt32(value)
            filled += 6
            if filled >= 8 {
                filled -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> filled))
                bits &= (1 << filled) - 1
            }
        }
        // Bits left over must be the zeros that padding implies.
        return bits == 0 && filled == UInt32(padding) * 2 ? bytes : nil
    }
}
