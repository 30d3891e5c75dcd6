/// The facts that are stored with a value. Every field is optional; a backend stores all of them, in its own format.
public struct StorageMetadata: Hashable, Sendable {
    /// The name of the serializer that produced the payload.
    public var serializer: String?
    /// The name of the type that was stored.
    public var typeTag: String?
    /// The version of the stored type's shape.
    public var schemaVersion: Int?
    /// Where the value came from: bytes that only the layer above understands (and may have sealed).
    public var origin: [UInt8]?
    /// How the payload is sealed; nil where it is not.
    public var sealing: String?
    /// When the slot was first written, in seconds since 1970-01-01T00:00:00Z. Never used to order anything.
    public var createdAt: Double?
    /// When the slot was last written, in seconds since 1970-01-01T00:00:00Z. Never used to order anything.
    public var modifiedAt: Double?
    /// When the value stops being valid, in seconds since 1970-01-01T00:00:00Z.
    public var expiresAt: Double?
    /// Further named texts.
    public var attributes: [String: String]
    /// Whether a store that finds values by keyed labels may keep one for each attribute. Without them, a condition on an attribute is looked
    /// for in every value of the namespace; the answers are the same.
    public var indexesAttributes: Bool

    /// Creates metadata; everything that is not given is unknown.
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
