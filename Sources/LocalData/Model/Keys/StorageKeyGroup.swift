/// Creates keys and collections with the same owner, domain and protection. The names may be computed at run time.
///
/// ```swift
/// let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)
/// let width = window.key("width", "The window's width in points", default: 800)
/// ```
public struct StorageKeyGroup: Sendable {
    /// The part of the program that is responsible for the values.
    public let owner: String
    /// The domain that stores the values.
    public let domain: StorageDomain
    /// The protection of the values in addition to that of the domain.
    public let security: SecurityPolicy

    /// Creates a group.
    public init(owner: String, domain: StorageDomain, security: SecurityPolicy = .automatic) {
        (self.owner, self.domain, self.security) = (owner, domain, security)
    }

    /// Returns a key of the group.
    /// - Parameters:
    ///   - name: The name of the slot.
    ///   - description: A description of the value for people; nil if the name is enough.
    ///   - defaultValue: The value that `get` returns when the value is absent.
    public func key<Value>(_ name: String, _ description: String? = nil, default defaultValue: Value? = nil) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: security, owner: owner, description: description, defaultValue: defaultValue)
    }

    /// Returns a collection of the group with `Identifiable` records.
    /// - Parameters:
    ///   - name: The collection's name.
    ///   - description: A description of the records for people; nil if the name is enough.
    public func collection<Record: Identifiable>(_ name: String, _ description: String? = nil) -> StorageCollection<Record>
    where Record.ID: Sendable {
        StorageCollection(name, domain: domain, security: security, owner: owner, description: description)
    }
}
