import BackendContract

/// A value, encoded for a write before the write enters the lane: the queue that orders the changes of one slot. In the
/// lane, ``over(_:now:)`` and ``RecordCoder/complete(_:origin:)`` add the data that depends on what the slot then
/// contains.
struct EncodedValue: Sendable {
    var route: Route
    /// The bytes to store, before they are sealed.
    var bytes: [UInt8]
    /// The value as a native type of the store, such as a string, which other programs can read. Nil if the value is
    /// stored as bytes instead.
    let native: NativeValue?
    /// The properties that this record shares with all records of its key or collection.
    var shape: RecordShape
    /// The metadata that the write sets or keeps.
    var facts: WriteAttributes
    /// The records inside the value's references, which are written together with the value. If such a record refers to
    /// others, it comes after them.
    var references: ReferencedRecords
    /// The attributes that are derived from the value; nil if its collection declares none.
    var derived: DerivedTexts?
    /// Copies of the value in the form that earlier releases of the program read from a legacy location. There are none
    /// unless a release window keeps the legacy location up to date.
    var older: [EncodedValue] = []

    /// Returns a copy that keeps metadata of the record in the slot, such as its attributes.
    /// - Parameter probe: The result of reading the slot.
    func over(_ probe: StorageProbe, now: Double) -> EncodedValue {
        var prepared = self
        prepared.facts = facts.over(probe, now: now)
        return prepared
    }
}

/// The records inside the references of a value. A reference is a property that refers to a record of another
/// collection. These records are written together with the value.
struct ReferencedRecords: Sendable {
    var records: [any ReferredRecord] = []
    /// Whether the value contains the same record several times, with different contents. Only the first content is in
    /// ``records``.
    var hasOtherStates = false

    static let none = ReferencedRecords()

    var isEmpty: Bool { records.isEmpty }
}

extension ReferencedRecords {
    /// Creates the list of the records that a collector has found so far.
    /// - Throws: The errors of encoding these records.
    init(_ collector: ReferenceCollector) throws {
        try collector.encodeMet()
        self.init(records: collector.found, hasOtherStates: collector.hasOtherStates)
    }
}

/// The properties that all records of a key or collection share.
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

    /// Creates the shape of the records of a key.
    /// - Parameter serializer: The serializer name that is stored with each record; nil for
    ///   ``TypedKey/storedSerializer``.
    init<Value>(_ key: StorageKey<Value>, serializer: String? = nil) {
        self.serializer = serializer ?? key.storedSerializer
        entity = key.entity
        typeTag = key.typeTag
        version = key.schemaVersion
        lifetime = key.lifetime
        isInCollection = key.isRecord
        indexesAttributes = key.membership?.indexesAttributes ?? true
    }
}

/// A record with all its metadata, ready to be written. If the key requires it, the content is already sealed.
struct CodedRecord: Sendable {
    let payload: StoragePayload
    let metadata: StorageMetadata

    var operation: StorageMutation.Operation { .put(payload, metadata) }
}
