import LocalData

/// What the tests run of the guide's samples.
public enum Samples {
    public static var legacyToken: StorageKey<String> { .legacyToken }
    public static var modernToken: StorageKey<String> { .modernToken }

    struct MyCatalog: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(StorageKey.modernToken)] }
    }

    @discardableResult
    public static func sweep() async throws -> MigrationReport {
        try await StorageRouter.shared.registerCatalog(MyCatalog(), migrateImmediately: true)
    }
}
