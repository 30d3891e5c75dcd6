import LocalData

extension StorageKey where Value == String {
    /// The location of the token in version 1.
    static let oldToken = StorageKey(
        name: "apiToken",
        domain: .userDefaults(suite: nil),
        security: .none,
        serializer: .json,
        owner: "Weather",
        description: "The token for the weather service, in version 1")

    /// The location of the token since version 2.
    static let token = StorageKey(
        name: "api-token",
        domain: .keychain(service: "com.example.weather"),
        security: .automatic,
        serializer: .json,
        owner: "Weather",
        description: "The token for the weather service",
        defaultValue: nil,
        migration: { key in
            AnyStorageMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: .key(StorageKey.oldToken)))
        })
}

extension StorageKey where Value == String {
    static let shortToken = StorageKey(name: "api-token", domain: .keychain(service: "com.example.weather"))
        .moved(from: .oldToken)
}

/// Starts the program on the real stores of the user. No test calls it.
func startProgram() async throws {
    try StorageRouter.bootstrap(.xdg(applicationID: "com.example.weather", version: "2.0"))  // once, before the first use of `shared`
    let token = try await StorageRouter.shared.get(.token)  // the first read moves the token; later reads use the keyring
    print(token.count)
}
