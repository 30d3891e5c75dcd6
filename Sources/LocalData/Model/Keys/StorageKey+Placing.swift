/// The domain of caches.
extension StorageDomain {
    /// An encrypted database in the folder of the caches. Backups do not contain it.
    /// - Parameter name: The database's name, never a path.
    package static func cache(_ name: String) -> StorageDomain { StorageDomain(kind: .cache, scope: name) }
}

extension StorageDomain.Kind {
    /// Encrypted databases in the folder of the caches.
    static let cache = StorageDomain.Kind("cache")
}

extension StorageKey {
    /// Returns this key in another domain, without its migrations and its default value.
    func placed(in domain: StorageDomain) -> Self {
        let key = StorageKey(
            name: name, domain: domain, security: security, serializer: serializer, owner: owner, description: description
        )
        .version(schemaVersion).evolving(evolution).belonging { $0 = membership }
        return lifetime.map { key.expiring(after: $0) } ?? key
    }
}
