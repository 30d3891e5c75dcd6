/// Writes length-prefixed, big-endian bytes.
package struct ByteWriter {
    package var bytes: [UInt8] = []

    package init() {}

    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    package mutating func fixed<Number: FixedWidthInteger>(_ value: Number) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func counted(_ content: some Collection<UInt8>) {
        fixed(UInt32(content.count))
        bytes.append(contentsOf: content)
    }
}

/// Why bytes are not a record.
package struct RecordDamage: Error {
    package let reason: String
    package init(_ reason: String) { self.reason = reason }
}

/// Reads what ``ByteWriter`` wrote, trusting nothing: every length is checked before it is used.
package struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package var isAtEnd: Bool { position == bytes.endIndex }

    package mutating func byte() throws(RecordDamage) -> UInt8 {
        guard position < bytes.endIndex else { throw RecordDamage("ends too early") }
        defer { position += 1 }
        return bytes[position]
    }

    /// A number of bytes as they are.
    package mutating func take(_ count: Int) throws(RecordDamage) -> [UInt8] {
        guard count <= bytes.endIndex - position else { throw RecordDamage("ends too early") }
        defer { position += count }
        return Array(bytes[position..<(position + count)])
    }

    package mutating func fixed<Number: FixedWidthInteger>(_ type: Number.Type) throws(RecordDamage) -> Number {
        var value: Number = 0
        for _ in 0..<(Number.bitWidth / 8) { value = (value << 8) | Number(truncatingIfNeeded: try byte()) }
        return value
    }

    /// A number that is counted: as many bytes as it has.
    package mutating func countedNumber<Number: FixedWidthInteger>(_ type: Number.Type) throws(RecordDamage) -> Number {
        guard try fixed(UInt32.self) == Number.bitWidth / 8 else { throw RecordDamage("has a number of the wrong length") }
        return try fixed(type)
    }

    package mutating func counted() throws(RecordDamage) -> [UInt8] {
        let count = Int(try fixed(UInt32.self))
        guard count <= bytes.endIndex - position else { throw RecordDamage("announces more bytes than there are") }
        defer { position += count }
        return Array(bytes[position..<(position + count)])
    }

    package mutating func text() throws(RecordDamage) -> String {
        guard let text = String(validating: try counted(), as: UTF8.self) else { throw RecordDamage("holds text that is not UTF-8") }
        return text
    }
}
