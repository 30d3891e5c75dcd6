import BackendContract

/// The parts of a store that hold newer shapes of values, beside the older ones in their own slots.
extension StorageNamespace {
    private static let shapePrefix = "shape:"

    /// The part that holds the shape of one version.
    static func shape(_ version: Int, of namespace: StorageNamespace) -> StorageNamespace {
        StorageNamespace("\(shapePrefix)\(version):\(namespace.name)")
    }

    /// The version whose shape is here; nil for any other part.
    var shapeVersion: Int? {
        guard name.hasPrefix(Self.shapePrefix) else { return nil }
        return Int(name.dropFirst(Self.shapePrefix.count).prefix { $0 != ":" })
    }
}
