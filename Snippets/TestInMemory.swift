// A test needs no disk, no D-Bus and no preparation.
// snippet.hide
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain, owner: "Network", description: "The token for the service")
}

// snippet.show
let storage = StorageRouter(configuration: .inMemory())
try await storage.set("abc", for: .apiToken)  // the keyring's domain, in memory
