/// Names the location of a value or collection in reports: a domain, and the name of the key or collection.
///
/// Reports, audits and results of migrations contain locations. Compare them, print them, or use them as keys of a
/// dictionary.
///
/// ```swift
/// let place = StoragePlace(.userDefaults(suite: "main"), "token")
/// print(place)  // userDefaults(main)/token
/// ```
public struct StoragePlace: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The domain of the location.
    public let domain: StorageDomain
    /// The name of the key or collection. For a record, it is the collection and the id, separated by a slash.
    public let name: String

    /// Creates a location.
    public init(_ domain: StorageDomain, _ name: String) { (self.domain, self.name) = (domain, name) }

    /// The location as text, such as `userDefaults(main)/token`.
    public var description: String { String(joining: [domain.description, "/", name]) }
}

extension String {
    /// Joins texts. Interpolation allocates the text several times while it grows.
    init(joining parts: [String]) {
        self.init(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { buffer in
            parts.reduce(0) { end, part in
                var part = part
                return part.withUTF8 { end + UnsafeMutableBufferPointer(rebasing: buffer[end...]).update(fromContentsOf: $0) }
            }
        }
    }
}
