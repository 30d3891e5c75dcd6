/// Metadata that is stored with a value, such as its serializer, its schema version and its attributes.
///
/// Every field may be missing. A backend stores all fields, in its own format.
///
/// ```swift
/// let metadata = StorageMetadata(serializer: "json", schemaVersion: 2, attributes: ["folder": "home"])
/// print(metadata.byteCount)  // counts towards the size of the value
/// ```
public struct StorageMetadata: Hashable, Sendable {
    /// The name of the serializer that produced the payload, the content of the value.
    public var serializer: String?
    /// The name of the value's type.
    public var typeTag: String?
    /// The schema version of the stored type.
    public var schemaVersion: Int?
    /// Describes the copies that the value was moved from, in other locations. A backend does not interpret these
    /// bytes. The layer above the backend encodes them, and may encrypt them.
    public var origin: [UInt8]?
    /// The encryption scheme of the payload; nil if it is not encrypted.
    public var sealing: String?
    /// The time of the first write of the slot (the location of the value), in seconds since 1970-01-01T00:00:00Z. It
    /// never decides the order of writes.
    public var createdAt: Double?
    /// The time of the last write of the slot, in seconds since 1970-01-01T00:00:00Z. It never decides the order of writes.
    public var modifiedAt: Double?
    /// The time at which the value expires, in seconds since 1970-01-01T00:00:00Z.
    public var expiresAt: Double?
    /// Additional texts, each under a name. A query can search for values with a certain text.
    public var attributes: [String: String]
    /// Whether an encrypted store may have an index of the attributes. The index contains a keyed hash of each attribute. Without it, a
    /// query for an attribute scans every value of the namespace and returns the same result.
    public var indexesAttributes: Bool

    /// Creates metadata. A field without an argument is missing.
    public init(
        serializer: String? = nil, typeTag: String? = nil, schemaVersion: Int? = nil, origin: [UInt8]? = nil, sealing: String? = nil,
        createdAt: Double? = nil, modifiedAt: Double? = nil, expiresAt: Double? = nil, attributes: [String: String] = [:],
        indexesAttributes: Bool = true
    ) {
        self.serializer = serializer
        self.typeTag = typeTag
        self.schemaVersion = schemaVersion
        self.origin = origin
        self.sealing = sealing
        self.createdAt = createdAt
        self.modifiedAt = modifiedAt
        self.expiresAt = expiresAt
        self.attributes = attributes
        self.indexesAttributes = indexesAttributes
    }
}
