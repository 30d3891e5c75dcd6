import LocalData

struct MyMigration: StorageMigration {
    typealias Value = String

    let destinationKey = StorageKey.modernToken

    func shouldMigrate(using storage: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await storage.exists(destinationKey)
    }

    func migrate(using storage: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        // Custom migration logic
        MigrationResult(success: true)
    }
}

extension StorageKey where Value == String {
    static let modernToken = StorageKey(
        name: "modern_token",
        domain: .keychain(service: "com.myapp"),
        owner: "MigrationDemo",
        description: "Modern token stored in Keychain.",
        migration: { _ in AnyStorageMigration(MyMigration()) }
    )
}
