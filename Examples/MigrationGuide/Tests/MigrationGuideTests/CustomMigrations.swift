import Foundation
import LocalData

extension StorageKey where Value == String {
    static let profile = StorageKey(name: "profile", domain: .userDefaults, defaultValue: "home")

    static let city = StorageKey(
        name: "city", domain: .userDefaults, owner: "Weather", description: "The first city to show",
        migration: { key in AnyStorageMigration(CityOfProfile(destinationKey: key)) })
}

/// Version 1 stored a city for each profile. Version 2 has one city, which is that of the profile in use.
struct CityOfProfile: StorageMigration {
    let destinationKey: StorageKey<String>
    var sources: [AnyStorageKey] { ["home", "work"].map { .key(Self.city(of: $0)) } }

    static func city(of profile: String) -> StorageKey<String> { StorageKey(name: "city.\(profile)", domain: .userDefaults) }

    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.exists(Self.city(of: router.get(.profile)))
    }

    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await context.move(from: Self.city(of: router.get(.profile)), to: destinationKey) { $0 }
    }
}

/// Version 1 stored the favourite cities in a text file, one in each line.
struct FavouritesOfFile: StorageMigration {
    typealias Value = [String]

    let destinationKey: StorageKey<[String]>
    let file: URL

    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        FileManager.default.fileExists(atPath: file.path)
    }

    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        if try await !router.exists(destinationKey) {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            try await router.set(lines, for: destinationKey)
        }
        try FileManager.default.removeItem(at: file)  // only after the value is durable
        return MigrationResult(success: true)
    }
}
