import LocalData

struct WeatherKeys: StorageKeyCatalog {
    // Only destinations. The router finds the legacy keys in the migrations of these keys.
    var allKeys: [AnyStorageKey] {
        [.key(.token), .key(.city), .key(.interval), .key(.observer), .key(.theme), .key(.home)]
    }
}

/// Moves all values that version 1 left, and prints the result.
func migrateAtLaunch(_ storage: StorageRouter) async throws -> MigrationReport {
    let report = try await storage.registerCatalog(WeatherKeys(), migrateImmediately: true)

    for row in report.moved { print("\(row.key): \(row.from) → \(row.to), \(row.bytes) bytes") }
    for row in report.blocked { print("\(row.key) waits for its store: \(row.message ?? "")") }
    for row in report.failed { print("\(row.key) stays in its legacy location: \(row.message ?? "")") }
    return report
}

/// Explains to the user why a sweep is not complete. Throws if a migration failed.
func explain(_ report: MigrationReport) throws {
    do {
        try report.requireComplete()
    } catch StorageError.locked {
        print("\(report.blocked.count) values wait for the keyring. Unlock it, then sweep again.")
    } catch StorageError.residueRemains {
        print("Every value is at its destination. Older copies remain, and the next sweep deletes them.")
    }
}
