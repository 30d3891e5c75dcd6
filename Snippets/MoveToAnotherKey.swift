// To change the key of an encrypted database, move its values into another database.
// snippet.hide
import LocalData

// snippet.show
let old = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents"))
let new = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents-2"))

let draft: StorageKey<String> = new.key("draft", "The current draft").moved(from: old.key("draft", "The draft, under the old key"))

struct EditorKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(draft)] }
}

var configuration = StorageConfiguration.service(applicationID: "com.example.service", version: "3.0")
configuration.keySource = .credential("documents-key-2")
configuration.databaseKeySources["documents"] = .credential("documents-key")  // until all values have moved
// snippet.hide

configuration = .inMemory()
// snippet.show

let storage = StorageRouter(configuration: configuration)
try await storage.registerCatalog(EditorKeys(), migrateImmediately: true).requireComplete()
