// The first key: a token that version 1 kept in user defaults moves to the keyring when it is first read.
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain)
        .moved(from: StorageKey(name: "apiToken", domain: .userDefaults))  // where version 1 stored it
}

// snippet.hide
@MainActor func readToken() async throws {
    // snippet.show
    let storage = StorageRouter(configuration: .xdg(applicationID: "com.example.app", version: "2.0"))
    let token = try await storage.get(.apiToken)  // moved on the first read; later reads use the keyring
    // snippet.hide
    print(token)
}

_ = readToken
