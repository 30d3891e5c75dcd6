import BackendContract

/// The parts of a store that collections are in.
extension StorageNamespace {
    private static let collectionPrefix = "collection:"

    /// The part that holds the records of a collection.
    static func collection(_ name: String) -> StorageNamespace { StorageNamespace(collectionPrefix + name) }

    /// The part in which each collection has one slot for the whole collection.
    static let collections = StorageNamespace("collections")

    /// The collection whose records are here; nil for any other part.
    var collectionName: String? {
        name.hasPrefix(Self.collectionPrefix) ? String(name.dropFirst(Self.collectionPrefix.count)) : nil
    }
}

extension PhysicalSlot {
    /// The slot of the whole collection that this slot's record is in; nil for a slot outside of collections.
    var placeholder: PhysicalSlot? {
        address.namespace.collectionName.map { PhysicalSlot(store: store, address: StorageAddress($0, in: .collections)) }
    }
}
