/// Identifies the physical store of a backend. Two backends with the same identity access the same slots.
///
/// A slot is the location of one value. The router compares identities to find two keys that would share a value.
///
/// ```swift
/// let identity = BackendIdentity(kind: "folder", store: "/var/lib/weather")  // a resolved path: one folder, one identity
/// print(identity)  // folder:/var/lib/weather
/// ```
public struct BackendIdentity: Hashable, Sendable, CustomStringConvertible {
    /// The kind of store, for example "property-list", "secret-service" or "memory".
    public let kind: String
    /// Identifies the store within its kind: a resolved path, the attributes of a keyring's items, or a random number for a store in
    /// memory.
    public let store: String

    /// Creates an identity.
    public init(kind: String, store: String) {
        self.kind = kind
        self.store = store
    }

    /// The kind and the store, separated by a colon.
    public var description: String { "\(kind):\(store)" }
}

/// A slot in a physical store. Two keys with the same physical slot share their value.
///
/// ```swift
/// let slot = PhysicalSlot(store: identity, address: StorageAddress("city"))
/// print(slot)  // folder:/var/lib/weather#city
/// ```
public struct PhysicalSlot: Hashable, Sendable, CustomStringConvertible {
    /// The parts of a slot. Slots are copied often, so a copy must not retain each text.
    private final class Parts: Sendable {
        let store: BackendIdentity
        let address: StorageAddress
        /// The hash value of the address.
        let code: Int

        init(_ store: BackendIdentity, _ address: StorageAddress) { (self.store, self.address, code) = (store, address, address.hashValue) }
    }

    private let parts: Parts
    /// The identity of the store.
    public var store: BackendIdentity { parts.store }
    /// The address of the slot in the store.
    public var address: StorageAddress { parts.address }

    /// Creates a slot.
    public init(store: BackendIdentity, address: StorageAddress) { parts = Parts(store, address) }

    /// Whether two slots have the same store and address.
    public static func == (left: Self, right: Self) -> Bool {
        left.parts === right.parts
            || left.parts.code == right.parts.code && left.address == right.address && left.store == right.store
    }

    /// Hashes the address only. The store is often a long path, and slots that are compared are mostly in the same
    /// store.
    public func hash(into hasher: inout Hasher) { hasher.combine(parts.code) }

    /// The store and the address, separated by a number sign.
    public var description: String { "\(store)#\(address)" }
}
