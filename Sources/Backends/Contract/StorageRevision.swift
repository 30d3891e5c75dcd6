/// Identifies one state of one slot, the location of one value.
///
/// A revision is opaque and is compared only for equality. A store never uses it for another state, even after a
/// delete. A change can require that the slot still has a certain revision.
///
/// ```swift
/// var generator = SystemRandomNumberGenerator()
/// let revision = StorageRevision.random(using: &generator)
/// print(revision)  // revision(16): the bytes are never printed
/// ```
public struct StorageRevision: Hashable, Sendable {
    /// The revision's bytes. Only the backend that made them can interpret them.
    public let bytes: [UInt8]

    /// Creates a revision from the bytes a backend chose.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns a revision of 128 random bits, which is practically unique across processes and restarts.
    ///
    /// ```swift
    /// var generator = SystemRandomNumberGenerator()
    /// let revision = StorageRevision.random(using: &generator)
    /// print(revision)  // revision(16): the bytes are never printed
    /// ```
    /// - Parameter generator: The source of randomness.
    public static func random(using generator: inout some RandomNumberGenerator) -> StorageRevision {
        var writer = ByteWriter()
        writer.fixed(generator.next() as UInt64)
        writer.fixed(generator.next() as UInt64)
        return StorageRevision(writer.bytes)
    }
}
