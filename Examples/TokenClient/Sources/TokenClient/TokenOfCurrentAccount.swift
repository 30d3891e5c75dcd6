import LocalData

/// The keys of the program. It stores one token now; earlier versions stored one for each account.
public struct AccountKeys: StorageKeyCatalog {
    /// Creates the catalog.
    public init() {}

    static let account = StorageKey<String>(name: "account", domain: .userDefaults, defaultValue: "home")

    /// The token of the account in use.
    public static let token = StorageKey<String>(name: "token", domain: .keychain) { _ in AnyStorageMigration(TokenOfCurrentAccount()) }

    static func token(of account: String) -> StorageKey<String> { StorageKey(name: "token.\(account)", domain: .userDefaults) }

    /// The keys of the program.
    public var allKeys: [AnyStorageKey] { [.key(Self.account), .key(Self.token)] }
}

/// Moves the token of the account in use. It is a custom migration, because only the program can choose the right
/// source.
struct TokenOfCurrentAccount: StorageMigration {
    var destinationKey: StorageKey<String> { AccountKeys.token }
    var sources: [AnyStorageKey] { ["work", "home"].map { .key(AccountKeys.token(of: $0)) } }

    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await router.exists(AccountKeys.token(of: router.get(AccountKeys.account)))
    }

    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await context.move(from: AccountKeys.token(of: try await router.get(AccountKeys.account)), to: destinationKey) { $0 }
    }
}
