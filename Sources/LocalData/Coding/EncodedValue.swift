import BackendContract

/// A value that was encoded, before the lane of its slot is taken. The lane's holder adds what depends on the slot's present state: see
/// ``over(_:now:)`` and ``RecordCoder/complete(_:origin:)``.
struct EncodedValue: Sendable {
    var route: Route
    /// The serializer's bytes.
    var bytes: [UInt8]
    /// The value in the store's own terms, where the store shows values to people.
    let native: NativeValue?
    /// What the key says of every record of its own.
    var shape: RecordShape
    /// What the write says beside the value.
    var facts: WriteAttributes
    /// The records that the value refers to and was made with; each after those that it refers to.
    var references: ReferencedRecords
    /// The value in the shape of an older place that is kept up to date; empty where there is none.
    var older: [EncodedValue] = []

    /// The same value, over what its slot was seen to hold.
    func over(_ probe: StorageProbe, now: Double) -> EncodedValue {
        var prepared = self
        prepared.facts = facts.over(probe, now: now)
        return prepared
    }
}

/// The records that a value refers to and was made with.
struct ReferencedRecords: Sendable {
    var records: [any ReferredRecord] = []
    /// Whether one record was found in several states, of which only the first is in ``records``.
    var hasOtherStates = false

    static let none = ReferencedRecords()

    init(records: [any ReferredRecord] = [], hasOtherStates: Bool = false) {
        self.records = records
        self.hasOtherStates = hasOtherStates
    }

    /// What was collected so far.
    /// - Throws: What encoding one of the records throws.
    init(_ collector: ReferenceCollector) throws {
        try collector.encodeMet()
        self.init(records: collector.found, hasOtherStates: collector.hasOtherStates)
    }

    var isEmpty: Bool { records.isEmpty }
}

/// What a key says of every record of its own.
struct RecordShape: Sendable {
    let serializer: String
    /// The name of the key or collection.
    let entity: String
    let typeTag: String
    let version: Int
    let lifetime: Duration?
    /// Whether the records are asked for by their metadata, as those of a collection are.
    let isInCollection: Bool
    /// Whether a store may keep labels of their attributes.
    let indexesAttributes: Bool

    /// - Parameter serializer: The name that is stored; by default the key's own way of storing its values.
    init<Value>(_ key: StorageKey<Value>, serializer: String? = nil) {
        self.serializer = serializer ?? key.storedSerializer
        entity = key.entity
        typeTag = key.typeTag
        version = key.schemaVersion
        lifetime = key.lifetime
        isInCollection = key.demandsTypeTag
        indexesAttributes = key.membership?.indexesAttributes ?? true
    }

    /// The same key's records in an older shape.
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

/// A record's content and metadata, complete and sealed: ready to be written.
struct CodedRecord: Sendable {
    let payload: StoragePayload
    let metadata: StorageMetadata

    var operation: StorageMutation.Operation { .put(payload, metadata) }
}

extension CodedRecord {
    /// What a change writes; nil for one that writes no value.
    init?(_ change: Committer.Change) {
        guard case .put(let payload, let metadata) = change.mutation.operation else { return nil }
        self.init(payload: payload, metadata: metadata)
    }
}
