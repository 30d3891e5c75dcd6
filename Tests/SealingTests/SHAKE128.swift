/// SHAKE128 (FIPS 202), in a plain implementation.
///
/// The published test of XAES-256-GCM draws its inputs from one instance, and hashes its outputs with another.
struct SHAKE128 {
    private static let rate = 168
    private var lanes = [UInt64](repeating: 0, count: 25)
    private var position = 0
    private var isSqueezing = false

    mutating func absorb(_ bytes: some Sequence<UInt8>) {
        precondition(!isSqueezing)
        for byte in bytes {
            mix(byte, at: position)
            position += 1
            if position == Self.rate { permute() }
        }
    }

    mutating func squeeze(_ count: Int) -> [UInt8] {
        if !isSqueezing {
            mix(0x1F, at: position)
            mix(0x80, at: Self.rate - 1)
            permute()
            isSqueezing = true
        }
        return (0..<count).map { _ in
            if position == Self.rate { permute() }
            defer { position += 1 }
            return UInt8(truncatingIfNeeded: lanes[position / 8] >> UInt64(position % 8 * 8))
        }
    }

    private mutating func mix(_ byte: UInt8, at position: Int) { lanes[position / 8] ^= UInt64(byte) << UInt64(position % 8 * 8) }

    /// Applies Keccak-f[1600]. The rotations and round constants are computed from their definitions, not from tables.
    private mutating func permute() {
        position = 0
        lanes.withUnsafeMutableBufferPointer { a in
            var register: UInt8 = 1
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 5) { column in
                for _ in 0..<24 {
                    for x in 0..<5 { column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] }
                    for x in 0..<5 {
                        let change = column[(x + 4) % 5] ^ Self.rotate(column[(x + 1) % 5], 1)
                        for y in stride(from: x, to: 25, by: 5) { a[y] ^= change }
                    }
                    var (x, y, carried) = (1, 0, a[1])
                    for step in 0..<24 {
                        (x, y) = (y, (2 * x + 3 * y) % 5)
                        let next = a[x + 5 * y]
                        a[x + 5 * y] = Self.rotate(carried, UInt64((step + 1) * (step + 2) / 2 % 64))
                        carried = next
                    }
                    for row in stride(from: 0, to: 25, by: 5) {
                        for x in 0..<5 { column[x] = a[row + x] }
                        for x in 0..<5 { a[row + x] = column[x] ^ (~column[(x + 1) % 5] & column[(x + 2) % 5]) }
                    }
                    for bit in 0..<7 {
                        if register & 1 == 1 { a[0] ^= 1 << UInt64((1 << bit) - 1) }
                        register = register << 1 ^ (register >> 7 &* 0x71)
                    }
                }
            }
        }
    }

    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { count == 0 ? word : word << count | word >> (64 - count) }
}
