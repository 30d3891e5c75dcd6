// A locked keyring is never taken for an empty one, and only `unlock` asks for a password.
// snippet.hide
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain, owner: "Network", description: "The token for the service")
}

let storage = StorageRouter(configuration: .inMemory())
try await storage.set("token", for: .apiToken)

// snippet.show
func token() async throws -> String {
    do {
        return try await storage.get(.apiToken)
    } catch StorageError.locked {
        try await storage.unlock(.keychain)  // may open a prompt; throws promptDismissed if the user declines
        return try await storage.get(.apiToken)
    }
}

// Or check the status first. This never opens a prompt.
switch await storage.status(of: .keychain) {
case .ready: print(try await token().count)
case .locked: print("Secrets can be used once you have unlocked your keyring.")
case .absent: print("There is no keyring yet. Log in to the desktop once, or make one with a keyring program.")
case .unavailable(let error): print(error.message)
}
