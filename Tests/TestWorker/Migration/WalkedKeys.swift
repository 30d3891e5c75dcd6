import LocalData

/// The keys of the calls that `Scripts/walk` follows. They are declared once, as a program declares its keys.
enum WalkedKeys {
    private static func key(_ name: String, _ domain: StorageDomain) -> StorageKey<String> {
        StorageKey(name: name, domain: domain, owner: "Worker", description: "A value")
    }

    private static func legacy(_ name: String) -> StorageKey<String> { key(name, .userDefaults(suite: "earlier")) }

    private static let list = key("walked", .userDefaults(suite: "walk"))
    private static let database = key("walked", .encryptedSQLite(database: "walk"))
    private static let moved = ["first", "second"].map { key($0, .encryptedSQLite(database: "walk")).moved(from: legacy($0)) }

    /// Performs one call, and returns the value of the key.
    /// - Parameter words: `get` or `set` with `list` or `database`; `move` with the number of a key that is still at its legacy location.
    static func answer(_ words: [String], on router: StorageRouter) async throws -> String {
        let place = words[1] == "list" ? list : database
        switch words[0] {
        case "seed": for name in ["first", "second"] { try await router.set("value", for: legacy(name)) }
        case "set": try await router.set("value", for: place)
        case "move": return try await router.get(moved[words[1] == "first" ? 0 : 1])
        default: return try await router.get(place)
        }
        return "value"
    }
}
