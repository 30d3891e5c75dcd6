// Brings a value that lost a conflict back.
// snippet.hide
import Foundation
import LocalData

let old = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "old"))
let new = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "new"))
let recent: StorageKey<[String]> = new.key("recent", "Recently viewed cities").moved(from: old.key("recent", "The cities, in version 1"))

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(recent)] }
}

let storage = StorageRouter(configuration: .inMemory())
try await storage.set(["Oslo"], for: recent)
try await storage.set(["Bergen"], for: old.key("recent", "The cities, in version 1"))
try await storage.registerCatalog(AppKeys(), migrateImmediately: true)

// snippet.show
// Decodes a displaced value, stores it, and only then purges the entry.
for entry in try await storage.quarantine.values() where entry.key == "recent" {
    do {
        let cities = try JSONDecoder().decode([String].self, from: try await storage.quarantine.data(of: entry))
        try await storage.update(recent, default: []) { $0 += cities }
        try await storage.quarantine.purge(entry)
    } catch StorageError.corrupted {
        print("The entry \(entry.id) is damaged. It stays in the quarantine.")
    }
}
// snippet.hide
print(try await storage.get(recent))
