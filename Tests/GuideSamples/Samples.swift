import LocalData

/// What the tests run of the guide's samples.
public enum Samples {
    /// The sample's key of the older place.
    public static var legacyToken: StorageKey<String> { .legacyToken }
    /// The sample's key of today.
    public static var modernToken: StorageKey<String> { .modernToken }

    struct MyCatalog: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(StorageKey.modernToken)] }
    }

    /// The sample's launch.
    @discardableResult
    public static func sweep() async throws -> MigrationReport {
        try await StorageRouter.shared.registerCatalog(MyCatalog(), migrateImmediately: true)
    }
}
