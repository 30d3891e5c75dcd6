import BackendContract

/// The namespaces that a store uses for collections.
extension StorageNamespace {
    private static let collectionPrefix = "collection:"

    /// The namespace of a collection's records.
    static func collection(_ name: String) -> StorageNamespace { StorageNamespace(collectionPrefix + name) }

    /// The namespace with one slot for each collection. The slot represents the collection as a whole and contains no
    /// value.
    static let collections = StorageNamespace("collections")

    /// The name of the collection whose records are in this namespace; nil for other namespaces.
    var collectionName: String? {
        name.hasPrefix(Self.collectionPrefix) ? String(name.dropFirst(Self.collectionPrefix.count)) : nil
    }
}

extension PhysicalSlot {
    /// The slot of the collection that contains this record; nil if this slot is not a record's.
    var placeholder: PhysicalSlot? {
        address.namespace.collectionName.map { PhysicalSlot(store: store, address: StorageAddress($0, in: .collections)) }
    }
}
