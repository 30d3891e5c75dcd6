/// The content of a slot (the location of one value): serialized bytes, or a native value of the store.
///
/// ```swift
/// let text = StoragePayload.native(.string("Graz"))  // other programs can read it
/// let bytes = StoragePayload.bytes(Array(#"{"city":"Graz"}"#.utf8))
/// print(text.byteCount, bytes.byteCount)  // 4 15
/// ```
public enum StoragePayload: Hashable, Sendable {
    // Reason: "A payload is bytes or a native value" in Docs/Decisions/Stores.md.
    /// Bytes that a serializer produced.
    case bytes([UInt8])
    /// A value that users and other programs can read. Only backends that claim ``BackendCapabilities/storesNativeValues`` accept it.
    case native(NativeValue)

    /// The size of the content in bytes, without tags and length prefixes: the UTF-8 length of a text, 8 for a number or a date, 1 for a
    /// Boolean. For an array or a dictionary, it is the length of ``NativeValue/canonicalBytes``.
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

    /// An injective encoding of the payload: different payloads have different bytes. It is the input for fingerprints and digests.
    public var canonicalBytes: [UInt8] {
        switch self {
        case .bytes(let bytes): [0] + bytes
        case .native(let value): value.canonicalBytes
        }
    }
}
