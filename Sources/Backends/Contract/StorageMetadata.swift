/// Metadata that is stored with a value, such as its serializer, its schema version and its attributes.
///
/// Every field may be missing. A backend stores all fields, in its own format.
///
/// ```swift
/// let metadata = StorageMetadata(serializer: "json", schemaVersion: 2, attributes: ["folder": "home"])
/// print(metadata.byteCount)  // counts towards the size of the value
/// ```
public struct StorageMetadata: Hashable, Sendable {
    struct Fields: Hashable, Sendable {
        var serializer: String?
        var typeTag: String?
        var schemaVersion: Int?
        var origin: [UInt8]?
        var sealing: String?
        var createdAt: Double?
        var modifiedAt: Double?
        var expiresAt: Double?
        var attributes: [String: String] = [:]
        var indexesAttributes = true
    }

    /// The fields of equal copies. Metadata is copied much more often than it is changed.
    // Safe to share between tasks: it is changed only while there is one reference to it.
    private final class Shared: @unchecked Sendable {
        var fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    /// Nil if every field is missing.
    private var shared: Shared?

    /// The fields, which no other copy shares.
    private var own: Shared {
        mutating get {
            if isKnownUniquelyReferenced(&shared), let shared { return shared }
            let copy = Shared(shared?.fields ?? Fields())
            shared = copy
            return copy
        }
    }

    /// The name of the serializer that produced the payload, the content of the value.
    public var serializer: String? {
        get { shared?.fields.serializer }
        set { own.fields.serializer = newValue }
    }
    /// The name of the value's type.
    public var typeTag: String? {
        get { shared?.fields.typeTag }
        set { own.fields.typeTag = newValue }
    }
    /// The schema version of the stored type.
    public var schemaVersion: Int? {
        get { shared?.fields.schemaVersion }
        set { own.fields.schemaVersion = newValue }
    }
    /// Describes the copies that the value was moved from, in other locations. A backend does not interpret these
    /// bytes. The layer above the backend encodes them, and may encrypt them.
    public var origin: [UInt8]? {
        get { shared?.fields.origin }
        set { own.fields.origin = newValue }
    }
    /// The encryption scheme of the payload; nil if it is not encrypted.
    public var sealing: String? {
        get { shared?.fields.sealing }
        set { own.fields.sealing = newValue }
    }
    /// The time of the first write of the slot (the location of the value), in seconds since 1970-01-01T00:00:00Z. It
    /// never decides the order of writes.
    public var createdAt: Double? {
        get { shared?.fields.createdAt }
        set { own.fields.createdAt = newValue }
    }
    /// The time of the last write of the slot, in seconds since 1970-01-01T00:00:00Z. It never decides the order of writes.
    public var modifiedAt: Double? {
        get { shared?.fields.modifiedAt }
        set { own.fields.modifiedAt = newValue }
    }
    /// The time at which the value expires, in seconds since 1970-01-01T00:00:00Z.
    public var expiresAt: Double? {
        get { shared?.fields.expiresAt }
        set { own.fields.expiresAt = newValue }
    }
    /// Additional texts, each under a name. A query can search for values with a certain text.
    public var attributes: [String: String] {
        get { shared?.fields.attributes ?? [:] }
        _modify { yield &own.fields.attributes }
    }
    /// Whether an encrypted store may have an index of the attributes. The index contains a keyed hash of each attribute. Without it, a
    /// query for an attribute scans every value of the namespace and returns the same result.
    public var indexesAttributes: Bool {
        get { shared?.fields.indexesAttributes ?? true }
        set { own.fields.indexesAttributes = newValue }
    }

    /// Creates metadata without fields.
    public init() {}

    init(_ fields: Fields) { shared = Shared(fields) }

    /// Creates metadata. A field without an argument is missing.
    public init(
        serializer: String? = nil, typeTag: String? = nil, schemaVersion: Int? = nil, origin: [UInt8]? = nil, sealing: String? = nil,
        createdAt: Double? = nil, modifiedAt: Double? = nil, expiresAt: Double? = nil, attributes: [String: String] = [:],
        indexesAttributes: Bool = true
    ) {
        self.init(
            Fields(
                serializer: serializer, typeTag: typeTag, schemaVersion: schemaVersion, origin: origin, sealing: sealing,
                createdAt: createdAt, modifiedAt: modifiedAt, expiresAt: expiresAt, attributes: attributes,
                indexesAttributes: indexesAttributes))
    }

    /// Whether all fields are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.shared === right.shared || (left.shared?.fields ?? Fields()) == (right.shared?.fields ?? Fields())
    }

    /// Hashes all fields.
    public func hash(into hasher: inout Hasher) { (shared?.fields ?? Fields()).hash(into: &hasher) }
}
