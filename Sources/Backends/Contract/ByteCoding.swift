/// Writes length-prefixed, big-endian binary data.
///
/// The generic methods of the writer and the reader are `@inlinable`. Other modules then compile them for concrete types, which is much
/// faster.
package struct ByteWriter {
    package var bytes: [UInt8] = []

    package init() {}

    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    @inlinable package mutating func fixed<Number: FixedWidthInteger>(_ value: Number) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    @inlinable package mutating func counted(_ content: some Collection<UInt8>) {
        fixed(UInt32(content.count))
        let isCopied: Void? = content.withContiguousStorageIfAvailable { bytes.append(contentsOf: $0) }
        if isCopied == nil { bytes.append(contentsOf: content) }
    }
}

/// The error of a decoder: the reason why bytes are not valid.
package struct RecordDamage: Error {
    package let reason: String
    package init(_ reason: String) { self.reason = reason }
}

/// Reads the output of ``ByteWriter``. The input is untrusted: every length is checked before it is used.
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

    /// Reads the given number of bytes.
    package mutating func take(_ count: Int) throws(RecordDamage) -> [UInt8] { Array(try part(count)) }

    /// Reads a big-endian number of at most 8 bytes.
    package mutating func number(_ byteCount: Int) throws(RecordDamage) -> UInt64 {
        try part(byteCount).reduce(0) { $0 << 8 | UInt64($1) }
    }

    @inlinable package mutating func fixed<Number: FixedWidthInteger>(_ type: Number.Type) throws(RecordDamage) -> Number {
        Number(truncatingIfNeeded: try number(Number.bitWidth / 8))
    }

    /// Reads a number with a length prefix. The length must be the size of the number's type.
    mutating func countedNumber<Number: FixedWidthInteger>(_ type: Number.Type) throws(RecordDamage) -> Number {
        guard try fixed(UInt32.self) == Number.bitWidth / 8 else { throw RecordDamage("has a number of the wrong length") }
        return try fixed(type)
    }

    package mutating func counted() throws(RecordDamage) -> [UInt8] { Array(try field()) }

    package mutating func text() throws(RecordDamage) -> String {
        guard let text = try field().withUnsafeBytes({ String(utf8: $0) }) else { throw RecordDamage("holds text that is not UTF-8") }
        return text
    }

    /// Reads a length-prefixed field without copying it.
    private mutating func field() throws(RecordDamage) -> ArraySlice<UInt8> {
        try part(Int(try number(4)), or: "announces more bytes than there are")
    }

    /// Reads bytes without copying them.
    private mutating func part(_ count: Int, or problem: String = "ends too early") throws(RecordDamage) -> ArraySlice<UInt8> {
        guard count <= bytes.endIndex - position else { throw RecordDamage(problem) }
        defer { position += count }
        return bytes[position..<(position + count)]
    }
}

extension String {
    /// Creates a text from UTF-8; nil for other bytes. `String(validating:as:)` takes five times as long (Swift 6.3).
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        self.init(decoding: bytes, as: UTF8.self)
        // Bytes that are not UTF-8 were replaced.
        guard withUTF8({ UnsafeRawBufferPointer($0).hasSameBytes(as: bytes) }) else { return nil }
    }
}
