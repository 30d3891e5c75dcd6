import BackendContract

/// The additional properties of a key whose slot is not in the namespace of single values. Such a key usually belongs
/// to a record of a collection.
struct RecordMembership: Sendable {
    /// The namespace of the slot in its store.
    var namespace: StorageNamespace
    /// The name of the entity that contains the value: a collection, or an entity of a migration plan.
    var entity: String
    /// The type tag: the name of the value's type that is stored with the value; nil for the name of the Swift type.
    var typeTag: String?
    /// Whether the collection has only the records with its type tag. If not, a record with another one is read if it decodes.
    /// Reason: "A collection reads every tag that it does not name" in Docs/Decisions/Evolution.md.
    var requiresTypeTag = false
    /// Whether the slot belongs to a record of a collection.
    var isRecord = false
    /// Whether a record with another type tag is read as any other, because it will be migrated next.
    var acceptsOtherTags = false
    /// Whether a removal leaves a tombstone, a record of the removal, even if the key has no migration.
    var buriesRemoved = false
    /// Whether a store may index the record's attributes.
    var indexesAttributes = true
    /// The attributes that the collection derives from its records; nil if it declares none. The model of the records
    /// may declare more.
    var derived: DerivedAttributes?
    /// The collection, if it has legacy locations; otherwise nil. A legacy location may be one list of all records. The
    /// router must split this list before it reads the slot of a record.
    var gathered: (any TypedCollection)?
}
