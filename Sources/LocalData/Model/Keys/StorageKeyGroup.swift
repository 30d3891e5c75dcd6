/// Creates keys and collections with the same owner, domain and protection.
///
/// Use it if one part of a program has several values. The names of the keys may be computed at run time.
///
/// ```swift
/// let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)
///
/// extension StorageKey where Value == Double {
///     static let opacity: Self = window.key("opacity", "The opacity of the window, from 0 to 1", default: 1)
/// }
/// ```
public struct StorageKeyGroup: Sendable {
    /// The part of the program that is responsible for the values.
    public let owner: String
    /// The domain that stores the values.
    public let domain: StorageDomain
    /// The protection of the values in addition to that of the domain.
    public let security: SecurityPolicy

    /// Creates a group. It opens no store.
    ///
    /// ```swift
    /// let secrets = StorageKeyGroup(owner: "Payments", domain: .encryptedSQLite(database: "payments"))
    /// let sealed = StorageKeyGroup(owner: "Payments", domain: .userDefaults(suite: "payments"), security: .encrypted)
    /// ```
    public init(owner: String, domain: StorageDomain, security: SecurityPolicy = .automatic) {
        (self.owner, self.domain, self.security) = (owner, domain, security)
    }

    /// Returns a key of the group.
    ///
    /// ```swift
    /// for tab in 1...3 {
    ///     let url: StorageKey<String> = window.key("tab \(tab)", "The page in tab \(tab)", default: "about:blank")
    ///     show(try await storage.get(url))
    /// }
    /// ```
    /// - Parameters:
    ///   - name: The name of the slot.
    ///   - description: A description of the value for people; nil if the name is enough.
    ///   - defaultValue: The value that `get` returns when the value is absent.
    public func key<Value>(_ name: String, _ description: String? = nil, default defaultValue: Value? = nil) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: security, owner: owner, description: description, defaultValue: defaultValue)
    }

    /// Returns a collection of the group with `Identifiable` records.
    ///
    /// ```swift
    /// let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")
    /// ```
    /// - Parameters:
    ///   - name: The collection's name.
    ///   - description: A description of the records for people; nil if the name is enough.
    public func collection<Record: Identifiable>(_ name: String, _ description: String? = nil) -> StorageCollection<Record>
    where Record.ID: Sendable {
        StorageCollection(name, domain: domain, security: security, owner: owner, description: description)
    }
}
