/// Keys and collections that share an owner, a domain and a protection, with less to write for each; also for names that are only known at run time.
///
/// ```swift
/// let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)
/// let width = window.key("width", "The window's width in points", default: 800)
/// ```
public struct StorageKeyGroup: Sendable {
    /// The part of the program that answers for the values.
    public let owner: String
    /// Where they live.
    public let domain: StorageDomain
    /// How they are protected, beyond what the domain does by itself.
    public let security: SecurityPolicy

    /// Creates a group.
    public init(owner: String, domain: StorageDomain, security: SecurityPolicy = .automatic) {
        self.owner = owner
        self.domain = domain
        self.security = security
    }

    /// A key of the group.
    /// - Parameters:
    ///   - name: The name of the slot.
    ///   - description: What the value is, for people; nil where the name says it.
    ///   - defaultValue: What `get` returns when it is absent.
    public func key<Value>(_ name: String, _ description: String? = nil, default defaultValue: Value? = nil) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: security, owner: owner, description: description, defaultValue: defaultValue)
    }

    /// A collection of the group, of records that say their id themselves.
    /// - Parameters:
    ///   - name: The collection's name.
    ///   - description: What the records are, for people; nil where the name says it.
    public func collection<Record: Identifiable>(_ name: String, _ description: String? = nil) -> StorageCollection<Record>
    where Record.ID: Sendable {
        StorageCollection(name, domain: domain, security: security, owner: owner, description: description)
    }
}
