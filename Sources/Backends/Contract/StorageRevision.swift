/// The identity of one state of one slot: opaque, compared only for equality, and never used again, also after a delete.
public struct StorageRevision: Hashable, Sendable {
    /// The revision's bytes; only the backend that made them knows what they mean.
    public let bytes: [UInt8]

    /// Creates a revision from the bytes a backend chose.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// A revision of 128 random bits: unique for all practical purposes, across processes and restarts.
    /// - Parameter generator: The source of randomness.
    public static func random(using generator: inout some RandomNumberGenerator) -> StorageRevision {
        var writer = ByteWriter()
        writer.fixed(generator.next() as UInt64)
        writer.fixed(generator.next() as UInt64)
        return StorageRevision(writer.bytes)
    }
}
