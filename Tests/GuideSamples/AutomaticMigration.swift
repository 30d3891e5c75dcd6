import LocalData

extension StorageKey where Value == String {
    static let legacyToken = StorageKey(
        name: "old_key_name",
        domain: .userDefaults(suite: nil),
        security: .none,
        serializer: .json,
        owner: "MigrationDemo",
        description: "Legacy token stored in UserDefaults."
    )

    static let modernToken = StorageKey(
        name: "modern_token",
        domain: .keychain(service: "com.myapp"),
        owner: "MigrationDemo",
        description: "Modern token stored in Keychain.",
        migration: { key in
            AnyStorageMigration(
                SimpleLegacyMigration(
                    destinationKey: key,
                    sourceKey: .key(StorageKey.legacyToken)
                )
            )
        }
    )
}
