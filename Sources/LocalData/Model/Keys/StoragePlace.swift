/// A place of a value, as reports name it: a domain, and the name of the value, or of the collection.
public struct StoragePlace: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The domain.
    public let domain: StorageDomain
    /// The key's name, or the collection's.
    public let name: String

    /// Names a place.
    public init(_ domain: StorageDomain, _ name: String) { (self.domain, self.name) = (domain, name) }

    /// The place in words: `userDefaults(main)/token`.
    public var description: String { "\(domain)/\(name)" }
}
