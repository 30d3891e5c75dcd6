import LocalData

/// The samples of the guide that tests run.
public enum Samples {
    /// The key of the legacy location in the sample.
    public static var legacyToken: StorageKey<String> { .legacyToken }
    /// The current key in the sample.
    public static var modernToken: StorageKey<String> { .modernToken }

    struct MyCatalog: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(StorageKey.modernToken)] }
    }

    /// Registers the catalog of the sample and sweeps it.
    @discardableResult
    public static func sweep() async throws -> MigrationReport {
        try await StorageRouter.shared.registerCatalog(MyCatalog(), migrateImmediately: true)
    }
}
