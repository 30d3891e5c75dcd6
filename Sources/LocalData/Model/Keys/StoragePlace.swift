/// The location of a value or collection in reports: a domain, and the name of the key or collection.
public struct StoragePlace: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The domain of the location.
    public let domain: StorageDomain
    /// The name of the key or collection. For a record, it is the collection and the id, separated by a slash.
    public let name: String

    /// Creates a location.
    public init(_ domain: StorageDomain, _ name: String) { (self.domain, self.name) = (domain, name) }

    /// The location as text, such as `userDefaults(main)/token`.
    public var description: String { "\(domain)/\(name)" }
}
