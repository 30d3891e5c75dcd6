/// Slots (keyed hashes that identify rows) and encrypted rows that look like those of LocalData. Every layout gets the
/// same rows in the same order.
final class Rows {
    /// The bytes with which every encrypted row begins: the format and the id of the data key.
    static let prefix: [UInt8] = [1, 0x8F, 0x3A, 0xD1, 0x5C, 0x77, 0xE2, 0x09, 0xB4]

    /// Returns the size of an encrypted row: the padded plaintext, and 49 bytes for format, key id, nonce and tag.
    ///
    /// The plaintext has a length (4 bytes), about 100 bytes for kind, name and metadata, and the value. It is padded
    /// to a multiple of max(128, 2^(⌊log2 length⌋ - 3)).
    static func sealedSize(value: Int) -> Int {
        let length = 4 + 100 + value
        let step = max(128, 1 << (Int.bitWidth - 1 - length.leadingZeroBitCount - 3))
        return (length + step - 1) / step * step + 1 + 8 + 24 + 16
    }

    private let slots: UnsafeMutableRawBufferPointer
    private let blob: UnsafeMutableRawBufferPointer
    private(set) var versions: [Int64]

    /// Creates the slots and the first version numbers of the rows.
    /// - Parameters:
    ///   - count: The number of rows, including those that are inserted later.
    ///   - sealedSize: The number of bytes of each encrypted row.
    init(count: Int, sealedSize: Int) {
        var random = SplitMix(state: 62)
        slots = .allocate(byteCount: count * 16, alignment: 16)
        blob = .allocate(byteCount: sealedSize, alignment: 16)
        for index in 0..<count * 2 { slots.storeBytes(of: random.next(), toByteOffset: index * 8, as: UInt64.self) }
        versions = (0..<count).map { _ in Int64.random(in: 1...(1 << 32), using: &random) }
    }

    deinit {
        slots.deallocate()
        blob.deallocate()
    }

    func slot(_ index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: slots[index * 16..<index * 16 + 16]) }

    /// Increments the version of a row, so that a replacement changes the bytes of the row. SQLite does not write a
    /// page whose bytes are unchanged.
    func change(_ index: Int) { versions[index] += 1 }

    /// Returns the bytes of the row's current version, valid until the next call. The first bytes of the nonce contain
    /// the row's index, so that the row can be recognised in the file.
    func seal(_ index: Int) -> UnsafeRawBufferPointer {
        var random = SplitMix(state: UInt64(index) << 20 ^ UInt64(truncatingIfNeeded: versions[index]))
        for offset in stride(from: 0, to: blob.count - 7, by: 8) {
            blob.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
        blob.copyBytes(from: Self.prefix)
        blob.storeBytes(of: UInt64(index), toByteOffset: Self.prefix.count, as: UInt64.self)
        return UnsafeRawBufferPointer(blob)
    }
}

/// The random number generator of Steele, Lea and Flood (2014). It is fast, and gives the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
