/// What a slot holds: the bytes of a serializer, or a value in the store's own terms.
public enum StoragePayload: Hashable, Sendable {
    /// Bytes that only a serializer understands.
    case bytes([UInt8])
    /// A value that people and other programs can read; only given to backends that claim
    /// ``BackendCapabilities/storesNativeValues``.
    case native(NativeValue)

    /// The number of bytes of content, without any framing: the UTF-8 bytes of a text, 8 for a number, 1 for a truth value.
    public var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .native(.string(let text)): text.utf8.count
        case .native(.data(let bytes)): bytes.count
        case .native(.boolean): 1
        case .native(.integer), .native(.unsigned), .native(.real), .native(.date): 8
        case .native(let value): value.canonicalBytes.count
        }
    }

    /// An injective encoding of the payload, the input of fingerprints and digests.
    public var canonicalBytes: [UInt8] {
        switch self {
        case .bytes(let bytes): [0] + bytes
        case .native(let value): value.canonicalBytes
        }
    }
}
