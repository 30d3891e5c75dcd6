import LocalData
import LocalDataHummingbird

/// An API token.
struct Token: Codable, Identifiable, Sendable {
    /// The user.
    var id: String
    var text: String
}

let tokens = StorageCollection<Token>("tokens", domain: .encryptedSQLite(database: "sessions"), description: "The API tokens by user")

/// Everything that the server stores.
struct ServerKeys: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
    /// A key that stores its value as plaintext is refused at the start.
    var minimumProtection: ProtectionLevel { .sealed }

    init(_ sessions: StoragePersistDriver) { allKeys = [sessions.catalogEntry, .collection(tokens)] }
}
