import Synchronization

/// A cache of the attributes (the descriptions of stored properties) that models declare. A model may compute them on
/// every access, and decoding a value needs them each time.
enum DeclaredShapes {
    private static let known = Mutex<[ObjectIdentifier: [AttributeDescription]]>([:])

    /// Returns the attributes that a type declares; nil if it is not a ``StorageModel``.
    static func attributes(of type: any Any.Type) -> [AttributeDescription]? {
        guard let model = type as? any StorageModel.Type else { return nil }
        let id = ObjectIdentifier(type)
        if let attributes = known.withLock({ $0[id] }) { return attributes }
        // Do not hold the lock here, because this calls code of the program.
        let attributes = model.attributes
        known.withLock { $0[id] = attributes }
        return attributes
    }
}
