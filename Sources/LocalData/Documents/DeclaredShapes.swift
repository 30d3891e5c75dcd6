import Synchronization

/// The attributes of models, asked for once each: a model may work them out anew every time, and each read of one needs them.
enum DeclaredShapes {
    private static let known = Mutex<[ObjectIdentifier: [AttributeDescription]]>([:])

    /// What a type declares of itself; nil when it is no ``StorageModel``.
    static func attributes(of type: any Any.Type) -> [AttributeDescription]? {
        guard let model = type as? any StorageModel.Type else { return nil }
        let id = ObjectIdentifier(type)
        if let attributes = known.withLock({ $0[id] }) { return attributes }
        // Not under the lock: the program's own code is run.
        let attributes = model.attributes
        known.withLock { $0[id] = attributes }
        return attributes
    }
}
