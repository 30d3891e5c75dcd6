// The two lines that most programs need: migrate all values at launch, and read a value.
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(
        name: "api-token", domain: .keychain, owner: "Network", description: "The token for the service", defaultValue: "")
}

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.apiToken)] }
}

try StorageRouter.bootstrap(.inMemory())
// snippet.show
let report = try await StorageRouter.shared.registerCatalog(AppKeys(), migrateImmediately: true)
let token = try await StorageRouter.shared.get(.apiToken)
// snippet.hide
print(report.rows.count, token.count)
