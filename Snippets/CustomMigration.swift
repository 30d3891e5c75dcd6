// A custom migration, for a case that the migrations of the library do not cover.
// snippet.hide
import Foundation
import LocalData

let accounts = StorageKeyGroup(owner: "Accounts", domain: .keychain)
let old = StorageKeyGroup(owner: "Accounts", domain: .userDefaults)

extension StorageKey where Value == String {
    static let token = StorageKey(
        name: "token", domain: .keychain, owner: "Accounts", description: "The token of the account in use",
        migration: { _ in AnyStorageMigration(TokenOfCurrentAccount()) })
}
// snippet.show
struct TokenOfCurrentAccount: StorageMigration {
    var destinationKey: StorageKey<String> { .token }

    // The keys that the value may be moved from. `StorageRouter.remove(_:)`, called with the destination's key, also
    // deletes the values of these keys. `StorageRouter.audit()` reports which of them still have a value.
    var sources: [AnyStorageKey] { ["work", "home"].map { .key(source($0)) } }

    func source(_ account: String) -> StorageKey<String> { old.key("token.\(account)", "The token of one account") }

    func source(in storage: StorageRouter) async throws -> StorageKey<String> {
        source(try await storage.value(for: old.key("account", "The account in use")) ?? "home")
    }

    func shouldMigrate(using storage: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await storage.exists(source(in: storage))
    }

    func migrate(using storage: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await context.move(from: source(in: storage), to: destinationKey) { $0 }
    }
}
// snippet.hide

let storage = StorageRouter(configuration: .inMemory())
try await storage.set("abc", for: old.key("token.home", "The token of one account"))
print(try await storage.get(.token))
