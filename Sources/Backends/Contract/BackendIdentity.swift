/// The physical store of a backend. Two backends with the same identity are two views of the same slots.
public struct BackendIdentity: Hashable, Sendable, CustomStringConvertible {
    /// The kind of store: "property-list", "secret-service", "memory".
    public let kind: String
    /// The store within its kind: a resolved path, a collection and service, an instance.
    public let store: String

    /// Creates an identity.
    public init(kind: String, store: String) {
        self.kind = kind
        self.store = store
    }

    /// The kind and the store, separated by a colon.
    public var description: String { "\(kind):\(store)" }
}

/// One slot of one physical store. Two keys with the same physical slot share their value.
public struct PhysicalSlot: Hashable, Sendable, CustomStringConvertible {
    /// The store.
    public let store: BackendIdentity
    /// The slot in it.
    public let address: StorageAddress

    /// Creates a slot.
    public init(store: BackendIdentity, address: StorageAddress) {
        self.store = store
        self.address = address
    }

    /// Feeds the address into a hasher. The store, with a path perhaps, rarely tells two slots apart.
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }

    /// The store and the address, separated by a number sign.
    public var description: String { "\(store)#\(address)" }
}
