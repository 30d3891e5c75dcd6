/// An injective encoding of fields, for all data that is authenticated or hashed.
///
/// Each field is a 4-byte big-endian length and its bytes. The first field is a text that names the purpose, so that a
/// hash or tag for one purpose is never valid for another.
package struct Fields: Hashable, Sendable {
    /// The encoded fields.
    package private(set) var bytes: [UInt8] = []

    /// Creates fields that begin with a purpose.
    package init(_ purpose: String, _ parts: [UInt8]...) {
        bytes.reserveCapacity(160)
        add(purpose)
        for part in parts { add(part) }
    }

    /// Hashes all bytes at once. An array would hash them one by one.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// Appends a field.
    package mutating func add(_ field: UnsafeRawBufferPointer) {
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: UInt32(field.count) >> shift)) }
        bytes.append(contentsOf: field)
    }

    /// Appends a field.
    package mutating func add(_ field: [UInt8]) { field.withUnsafeBytes { add($0) } }

    /// Appends a text as a field, in UTF-8.
    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    /// Appends a number as a field of 8 bytes, big-endian.
    package mutating func add(_ number: Int64) { withUnsafeBytes(of: number.bigEndian) { add($0) } }
}
