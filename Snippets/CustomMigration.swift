// A migration of your own, for cases that the ready-made ones do not cover.
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

    // `remove` deletes these too, and an audit probes them.
    var sources: [AnyStorageKey] { ["work", "home"].map { .key(source($0)) } }

    func source(_ account: String) -> StorageKey<String> { old.key("token.\(account)", "The token of one account") }

    func source(in router: StorageRouter) async throws -> StorageKey<String> {
        source(try await router.value(for: old.key("account", "The account in use")) ?? "home")
    }

    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.exists(source(in: router))
    }

    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await context.move(from: source(in: router), to: destinationKey) { $0 }
    }
}
// snippet.hide

let router = StorageRouter(configuration: .inMemory())
try await router.set("abc", for: old.key("token.home", "The token of one account"))
print(try await router.get(.token))
