package import BackendContract

/// A value by which a row can be found in an order: one of an index that is named, as bytes that sort as the values do.
///
/// The bytes are those of a nested tuple of FoundationDB's tuple layer (`design/tuple.md` in its sources), without the byte that begins it: each part begins with a byte
/// for its kind and ends by itself, and the tuple ends with `00`, so that comparing bytes compares the tuples part by part. Parts of different kinds sort by kind: nothing,
/// bytes, texts (by their UTF-8), integers, floating-point numbers, false, true.
package struct OrderedValue: Hashable, Sendable {
    /// A part of a value.
    package enum Part: Hashable, Sendable {
        case nothing
        case bytes([UInt8])
        case text(String)
        case integer(Int64)
        /// Minus zero sorts before zero; NaN sorts before or after everything else, by its sign.
        case number(Double)
        case truth(Bool)
    }

    /// The name of the index.
    package let index: String
    /// The value.
    package let bytes: [UInt8]

    /// The most bytes of a value, and of an index's name.
    package static let limit = 1_024

    /// The most values of one row.
    static let maximumCount = 255

    /// Encodes a value.
    /// - Throws: ``BackendError`` with `tooLarge` when it takes more than ``limit`` bytes; with `invalidName` for an index without a name.
    package init(_ index: String, _ parts: [Part]) throws(BackendError) {
        try self.init(index, bytes: Self.bytes(parts))
    }

    /// Takes bytes that ``bytes(_:)`` made.
    package init(_ index: String, bytes: [UInt8]) throws(BackendError) {
        guard !index.isEmpty, index.utf8.count <= Self.limit else {
            throw BackendError(.invalidName, "The name of an index has 1 to \(Self.limit) bytes; this one has not.")
        }
        guard bytes.count <= Self.limit else {
            throw BackendError.tooLarge(
                bytes.count, limit: Self.limit, "an ordered index", remedy: "Order by the beginning of the value, or by its hash.")
        }
        (self.index, self.bytes) = (index, bytes)
    }

    /// The bytes of a tuple.
    package static func bytes(_ parts: [Part]) -> [UInt8] { beginning(parts) + [0] }

    /// What the bytes of every tuple begin with that begins with these parts.
    package static func beginning(_ parts: [Part]) -> [UInt8] { parts.reduce(into: []) { append($1, to: &$0) } }

    private static func append(_ part: Part, to bytes: inout [UInt8]) {
        func append(_ kind: UInt8, escaping content: some Sequence<UInt8>) {
            bytes.append(kind)
            for byte in content { bytes.append(contentsOf: byte == 0 ? [0, 0xFF] : [byte]) }
            bytes.append(0)
        }
        switch part {
        // The end of a tuple is 00 too, and nothing follows it that begins with FF.
        case .nothing: bytes.append(contentsOf: [0, 0xFF])
        case .bytes(let content): append(0x01, escaping: content)
        case .text(let text): append(0x02, escaping: text.utf8)
        case .integer(let number):
            let length = (64 - number.magnitude.leadingZeroBitCount + 7) / 8
            bytes.append(number < 0 ? 0x14 - UInt8(length) : 0x14 + UInt8(length))
            // A negative number as the complement of its magnitude in as many bytes.
            withUnsafeBytes(of: (number < 0 ? number &- 1 : number).bigEndian) { bytes.append(contentsOf: $0.suffix(length)) }
        case .number(let number):
            let bits = number.bitPattern
            bytes.append(0x21)
            withUnsafeBytes(of: (bits >> 63 == 1 ? ~bits : bits | 1 << 63).bigEndian) { bytes.append(contentsOf: $0) }
        case .truth(let value): bytes.append(value ? 0x27 : 0x26)
        }
    }

    // MARK: In a row

    /// How many bytes ``write(_:to:)`` appends.
    static func byteCount(_ values: [OrderedValue]) -> Int {
        values.isEmpty ? 0 : 1 + values.reduce(0) { $0 + 8 + $1.index.utf8.count + $1.bytes.count }
    }

    /// Appends how many there are, and of each the counted name of the index and the counted value, in the order of the names.
    static func write(_ values: [OrderedValue], to writer: inout ByteWriter) {
        writer.byte(UInt8(values.count))
        for value in values {
            writer.counted(value.index.utf8)
            writer.counted(value.bytes)
        }
    }

    /// Reads what ``write(_:to:)`` wrote.
    static func read(_ reader: inout ByteReader) throws(RecordDamage) -> [OrderedValue] {
        var values: [OrderedValue] = []
        for _ in 0..<(try reader.byte()) {
            let (index, bytes) = (try reader.text(), try reader.counted())
            guard values.last.map({ $0.index.utf8.lexicographicallyPrecedes(index.utf8) }) ?? true,
                let value = try? OrderedValue(index, bytes: bytes)
            else { throw RecordDamage("has ordered values that are none, or out of order") }
            values.append(value)
        }
        guard !values.isEmpty else { throw RecordDamage("says that it has ordered values, and has none") }
        return values
    }
}
