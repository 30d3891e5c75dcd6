import BackendContract

/// A value that was encoded before its change enters the lane of its slot, the queue that orders the changes of one
/// key. In the lane, ``over(_:now:)`` and ``RecordCoder/complete(_:origin:)`` add the data that depends on the slot's
/// present content.
struct EncodedValue: Sendable {
    var route: Route
    /// The bytes of the serializer.
    var bytes: [UInt8]
    /// The native form of the value; nil if it has none, or the store does not show values to other programs.
    let native: NativeValue?
    /// The properties that all records of the key share.
    var shape: RecordShape
    /// The metadata that the write sets.
    var facts: WriteAttributes
    /// The records that the value holds in its references. Each record follows the records that it refers to.
    var references: ReferencedRecords
    /// The value in the shape of the legacy location that a release window keeps up to date; empty without an open
    /// window.
    var older: [EncodedValue] = []

    /// Returns the same value, with the metadata to keep from the slot's present record.
    func over(_ probe: StorageProbe, now: Double) -> EncodedValue {
        var prepared = self
        prepared.facts = facts.over(probe, now: now)
        return prepared
    }
}

/// The records that a value holds in its references. They are written together with it.
struct ReferencedRecords: Sendable {
    var records: [any ReferredRecord] = []
    /// Whether one record was found in several states. Only the first state is in ``records``.
    var hasOtherStates = false

    static let none = ReferencedRecords()

    init(records: [any ReferredRecord] = [], hasOtherStates: Bool = false) {
        self.records = records
        self.hasOtherStates = hasOtherStates
    }

    /// Takes the records that were collected so far.
    /// - Throws: The errors of encoding these records.
    init(_ collector: ReferenceCollector) throws {
        try collector.encodeMet()
        self.init(records: collector.found, hasOtherStates: collector.hasOtherStates)
    }

    var isEmpty: Bool { records.isEmpty }
}

/// The properties that all records of a key share.
struct RecordShape: Sendable {
    let serializer: String
    /// The name of the key or collection.
    let entity: String
    let typeTag: String
    let version: Int
    let lifetime: Duration?
    /// Whether queries select the records by their metadata, as in a collection.
    let isInCollection: Bool
    /// Whether a store may index the attributes of the records.
    let indexesAttributes: Bool

    /// Creates the shape of a key's records.
    /// - Parameter serializer: The stored name of the serializer; nil for ``TypedKey/storedSerializer``.
    init<Value>(_ key: StorageKey<Value>, serializer: String? = nil) {
        self.serializer = serializer ?? key.storedSerializer
        entity = key.entity
        typeTag = key.typeTag
        version = key.schemaVersion
        lifetime = key.lifetime
        isInCollection = key.demandsTypeTag
        indexesAttributes = key.membership?.indexesAttributes ?? true
    }

    /// Creates an older shape of the same key's records.
    init(_ shape: RecordShape, version: Int, serializer: String, typeTag: String?) {
        self.serializer = serializer
        self.version = version
        self.typeTag = typeTag ?? shape.typeTag
        entity = shape.entity
        lifetime = shape.lifetime
        isInCollection = shape.isInCollection
        indexesAttributes = shape.indexesAttributes
    }
}

/// The complete content and metadata of a record. They are sealed if the key requires it, and can be written.
struct CodedRecord: Sendable {
    let payload: StoragePayload
    let metadata: StorageMetadata

    var operation: StorageMutation.Operation { .put(payload, metadata) }
}

extension CodedRecord {
    /// Creates the record that a change writes; nil if the change writes no value.
    init?(_ change: Committer.Change) {
        guard case .put(let payload, let metadata) = change.mutation.operation else { return nil }
        self.init(payload: payload, metadata: metadata)
    }
}
