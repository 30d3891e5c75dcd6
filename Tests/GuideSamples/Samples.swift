import LocalData

/// What the tests run of the guide's samples.
public enum Samples {
    /// The first sample's older key.
    public static var legacyToken: StorageKey<String> { .legacyToken }
    /// The first sample's key.
    public static var modernToken: StorageKey<String> { .modernToken }

    struct MyCatalog: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(StorageKey.modernToken)] }
    }

    /// The guide's sweep of a catalog with the modern key.
    @discardableResult
    public static func sweep() async throws -> MigrationReport {
        try await StorageRouter.shared.registerCatalog(MyCatalog(), migrateImmediately: true)
    }
}
