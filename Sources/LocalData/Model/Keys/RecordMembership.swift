import BackendContract

/// What makes a key one of a record in a collection, or of another record outside the plain values: its part of the store, and the type that it demands there.
struct RecordMembership: Sendable {
    /// The part of the store that the slot is in.
    var namespace: StorageNamespace
    /// The name of the entity that the value belongs to: the collection's, or that of an entity of a plan.
    var entity: String
    /// The name that is stored for the value's type; the Swift type's own when nil.
    var typeTag: String?
    /// Whether a record with another type's tag is refused, as in a collection.
    var demandsTypeTag = false
    /// Whether such a record is read all the same, to be migrated.
    var acceptsOtherTags = false
    /// Whether a removal leaves a tombstone even without a migration of the key's own.
    var buriesRemoved = false
    /// Whether a store may keep labels of the record's attributes.
    var indexesAttributes = true
    /// The collection, where a list that holds all of its records may have to be taken apart before the slot is read.
    var gathered: (any TypedCollection)?
}
