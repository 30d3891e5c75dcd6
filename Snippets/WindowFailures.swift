// A value that an earlier release could not read, and a legacy location that could not be updated.
// snippet.hide
import LocalData

struct Account: Codable, Sendable {
    var name: String
    var visits: Int
}

let old = StorageKeyGroup(owner: "Guide", domain: .userDefaults(suite: "old"))
let new = StorageKeyGroup(owner: "Guide", domain: .userDefaults(suite: "new"))
let storage = StorageRouter(configuration: .inMemory())

// snippet.show
// Without `merge:`, the type of release 1 must represent the whole value.
let account: StorageKey<Account> = new.key("account", "Who uses the program, and how often")
    .moved(
        from: old.key("user", "The name, in release 1"), keeping: .untilReleased,
        { (name: String) in Account(name: name, visits: 0) }, down: { $0.name })

do {
    try await storage.set(Account(name: "Ada", visits: 7), for: account)
} catch StorageError.encodingFailed {
    print("Release 1 could not read the number of visits. Nothing was changed.")
}
// snippet.hide

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(account)] }
}

try await storage.registerCatalog(AppKeys())
// snippet.show
// The legacy locations that an earlier release still reads with an older value.
for row in await storage.sweep().pending { print("\(row.key) waits: \(row.message ?? "")") }
